//! A library with strings, lists, variants and a resource.

use exports::demo::shop::cart::{Basket, BasketBorrow, Guest, GuestBasket, Item, Offer};
use std::cell::RefCell;

wit_bindgen::generate!({ world: "shop", path: "wit" });

struct Shop;

struct Owned {
    owner: String,
    items: RefCell<Vec<Item>>,
}

#[inline(never)]
fn sum(items: &[Item]) -> u64 {
    items.iter().map(|item| u64::from(item.price) * u64::from(item.count)).sum()
}

#[inline(never)]
fn is_prime(n: u32) -> bool {
    n > 1 && (2..).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d))
}

impl Guest for Shop {
    type Basket = Owned;

    fn total(items: Vec<Item>, offer: Offer) -> Result<u64, String> {
        let total = sum(&items);
        match offer {
            Offer::None => Ok(total),
            Offer::Percent(percent) if percent <= 100 => Ok(total - total * u64::from(percent) / 100),
            Offer::Percent(percent) => Err(format!("{percent} percent off?")),
            Offer::Gift(name) => Ok(total + sum(&[Item { name, price: 0, count: 1 }])),
        }
    }

    fn reverse(text: String) -> String {
        text.chars().rev().collect()
    }

    fn primes(below: u32) -> Vec<u32> {
        (0..below).filter(|&n| is_prime(n)).collect()
    }
}

impl GuestBasket for Owned {
    fn new(owner: String) -> Owned {
        Owned { owner, items: RefCell::default() }
    }

    fn put(&self, item: Item) {
        self.items.borrow_mut().push(item);
    }

    fn owner(&self) -> String {
        self.owner.clone()
    }

    fn total(&self) -> u64 {
        sum(&self.items.borrow())
    }

    fn merge(into: Basket, other: BasketBorrow<'_>) -> Basket {
        let (into, other) = (into.into_inner::<Owned>(), other.get::<Owned>());
        into.items.borrow_mut().extend(other.items.borrow().iter().cloned());
        Basket::new(into)
    }
}

export!(Shop);

//! Places in functions where samples found them.

use crate::frames::filter::CallFilter;
use crate::sampled::sampling::{SampledPlaces, TreePlaces};
use crate::sampled::windows::{Windows, filtered};
use crate::symbols::Symbols;
use crate::tree::nodes::NodeId;

impl Windows {
    /// Where in their code samples found the functions that the filter lets through: for each function, and for each node
    /// of the tree that [`into_nodes`](Windows::into_nodes) makes. Samples in calls that a filter leaves out have no place.
    pub(crate) fn places(
        &self,
        filter: Option<&CallFilter<'_>>,
        symbols: &Symbols,
    ) -> (SampledPlaces, TreePlaces) {
        let kept = filter.map(|filter| filtered(&self.paths.nodes, filter, symbols).1);
        let (mut of_functions, mut of_nodes) = (SampledPlaces::new(), TreePlaces::new());
        for (&(node, offset), place) in &self.places {
            let to: Option<NodeId> = match &kept {
                None => Some(node),
                Some(kept) => kept.get(node.index()).copied().flatten(),
            };
            if let (Some(node), Some(to)) = (self.paths.nodes.get(node.index()), to) {
                of_functions.entry((node.func, offset)).or_default().add(*place);
                of_nodes.entry((to, offset)).or_default().add(*place);
            }
        }
        (of_functions, of_nodes)
    }
}

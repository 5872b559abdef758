//! Packs and unpacks symbol tables.

use super::encoding::{Input, VERSION, VERSION_COUNTED, write_str};
use super::lz4::Packer;
use super::{MAX_BYTES, MAX_SYMBOLS, Symbol, SymbolTable, SymbolsError, inlined};
use crate::code::Codes;
use crate::function::{FuncId, FuncIndex, Source};
use crate::leb128;

impl SymbolTable {
    /// The bytes of the custom section.
    pub fn to_bytes(&self) -> Vec<u8> {
        let counted = self.symbols.iter().any(|symbol| symbol.counted);
        // Names of C++ templates are repetitive: packing shrinks them to a fifth.
        let mut packer = Packer::new(&[if counted { VERSION_COUNTED } else { VERSION }]);
        // A struct of strings and a number can always be written as JSON.
        write_str(packer.out(), &serde_json::to_string(&self.module).unwrap_or_default());
        leb128::write(packer.out(), self.id_base.into());
        leb128::write(packer.out(), self.symbols.len() as u64);
        for symbol in &self.symbols {
            let out = packer.out();
            leb128::write(out, symbol.func_index.0.into());
            leb128::write(out, symbol.code_offset);
            out.push(
                u8::from(symbol.exported)
                    | u8::from(symbol.imported) << 1
                    | u8::from(symbol.demangled.is_some()) << 2
                    | u8::from(symbol.unnamed) << 3
                    | u8::from(symbol.source.is_some()) << 4
                    | u8::from(symbol.counted) << 5,
            );
            write_str(out, &symbol.name);
            if let Some(demangled) = &symbol.demangled {
                write_str(out, demangled);
            }
            if let Some(Source { file, line }) = symbol.source {
                leb128::write(out, file.into());
                leb128::write(out, line.into());
            }
            packer.settle();
        }
        if !self.files.is_empty() || !self.codes.is_empty() {
            leb128::write(packer.out(), self.files.len() as u64);
            for file in &self.files {
                write_str(packer.out(), file);
                packer.settle();
            }
        }
        // Leaves the code out if it would make the table too large to read.
        if !self.codes.is_empty() && packer.written() + self.codes.size() < MAX_BYTES {
            for code in self.codes.pieces() {
                leb128::write(packer.out(), code.len() as u64);
                packer.out().extend_from_slice(code);
                packer.settle();
            }
            if !self.inlined.is_empty() {
                leb128::write(packer.out(), self.inlined.len() as u64);
            }
            for function in &self.inlined {
                inlined::write(function, packer.out());
                packer.settle();
            }
        }
        packer.finish(1)
    }

    /// Reads the bytes of the custom section. Errors say where and what; no input panics.
    pub fn from_bytes(bytes: &[u8]) -> Result<SymbolTable, SymbolsError> {
        SymbolTable::read(bytes, true)
    }

    /// [`from_bytes`](Self::from_bytes) for readers that show no lines: it reads the code and the inlined
    /// functions, but doesn't keep them. In a large module they take as much memory as the names.
    pub fn without_code(bytes: &[u8]) -> Result<SymbolTable, SymbolsError> {
        SymbolTable::read(bytes, false)
    }

    fn read(bytes: &[u8], keeps_code: bool) -> Result<SymbolTable, SymbolsError> {
        let mut input = Input::new(bytes)?;
        let module = serde_json::from_str(&input.str()?).map_err(|_| input.error("the module's identity"))?;
        let id_base = input.u32()?;
        let count = input.u32()?;
        if id_base.checked_add(count).is_none() {
            return Err(input.error("more ids than there are"));
        }
        if count as usize > MAX_SYMBOLS {
            return Err(input.error("it has too many symbols"));
        }
        let mut symbols = Vec::with_capacity(input.left().min(count as usize));
        for n in 0..count {
            let func_index = FuncIndex(input.u32()?);
            let code_offset = input.number()?;
            let flags = input.byte()?;
            let name = input.str()?;
            let demangled = if flags & 4 != 0 { Some(input.str()?) } else { None };
            let source = match flags & 16 {
                0 => None,
                _ => Some(Source { file: input.u32()?, line: input.u32()? }),
            };
            symbols.push(Symbol {
                id: FuncId(id_base + n),
                func_index,
                name: name.into(),
                demangled: demangled.map(Into::into),
                code_offset,
                exported: flags & 1 != 0,
                imported: flags & 2 != 0,
                unnamed: flags & 8 != 0,
                counted: flags & 32 != 0,
                source,
            });
        }
        let mut files = Vec::new();
        if input.left() > 0 {
            let count = input.u32()?;
            files.reserve(input.left().min(count as usize));
            for _ in 0..count {
                files.push(input.str()?);
            }
        }
        let mut codes = Codes::default();
        if input.left() > 0 {
            let mut left_out = Vec::new();
            if keeps_code {
                codes.reserve(symbols.len());
            }
            for _ in 0..symbols.len() {
                let length = input.number()?;
                let cut_off = input.error("what it says of code is cut off");
                let length = usize::try_from(length).ok().filter(|&length| length <= input.left());
                let length = length.ok_or(cut_off)?;
                if keeps_code {
                    input.bytes(length, codes.next_piece())?;
                    codes.end_piece();
                } else {
                    left_out.clear();
                    input.bytes(length, &mut left_out)?;
                }
            }
        }
        let mut inlined = Vec::new();
        inlined::read(&mut input, |function| {
            if keeps_code {
                inlined.push(function);
            }
        })?;
        input.end()?;
        Ok(SymbolTable { module, id_base, symbols, files, codes, inlined })
    }
}

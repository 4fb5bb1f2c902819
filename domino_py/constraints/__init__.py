"""Front ends: each turns a notation people have into an expression of `tokenizer_align`."""

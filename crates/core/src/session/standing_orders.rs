pub const VERSION: u32 = 1;
pub fn text() -> &'static str { "orders" }

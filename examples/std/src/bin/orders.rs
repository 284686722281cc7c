//! orders < ORDERS: reads orders as JSON and prints each customer's total as JSON.
//!
//! `[{"customer": "Ada", "items": [{"name": "tea", "price": 3.5, "count": 2}]}]`

use std::collections::BTreeMap;
use std::{error, io};

use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
struct Order {
    customer: String,
    items: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    price: f64,
    #[serde(default = "one")]
    count: u32,
}

fn one() -> u32 {
    1
}

#[derive(Default, Serialize)]
struct Total {
    orders: usize,
    items: u32,
    price: f64,
}

fn main() -> Result<(), Box<dyn error::Error>> {
    let orders: Vec<Order> = serde_json::from_reader(io::stdin().lock())?;
    let mut totals = BTreeMap::<_, Total>::new();
    for order in orders {
        let total = totals.entry(order.customer).or_default();
        total.orders += 1;
        for item in order.items {
            total.items += item.count;
            total.price += item.price * f64::from(item.count);
        }
    }
    serde_json::to_writer_pretty(io::stdout().lock(), &totals)?;
    println!();
    Ok(())
}

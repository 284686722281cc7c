//! Values with numbered slots that are reused.

/// A slot's number and generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Id {
    index: u32,
    generation: u32,
}

/// Values by [`Id`]; the id of a removed value finds nothing.
pub(super) struct Slab<T> {
    places: Vec<(u32, Option<T>)>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Slab<T> {
    pub(super) fn insert(&mut self, value: T) -> Id {
        let index = self.free.pop().unwrap_or_else(|| {
            self.places.push((0, None));
            // A slot is larger than a byte, so memory runs out before the numbers do.
            (self.places.len() - 1) as u32
        });
        let (generation, place) = &mut self.places[index as usize];
        *place = Some(value);
        let generation = *generation;
        Id { index, generation }
    }

    pub(super) fn get(&self, id: Id) -> Option<&T> {
        let (generation, value) = &self.places[id.index as usize];
        value.as_ref().filter(|_| *generation == id.generation)
    }

    pub(super) fn get_mut(&mut self, id: Id) -> Option<&mut T> {
        let (generation, value) = &mut self.places[id.index as usize];
        value.as_mut().filter(|_| *generation == id.generation)
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &T> {
        self.places.iter().filter_map(|(_, value)| value.as_ref())
    }

    /// The number of values.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.values().count()
    }

    pub(super) fn remove(&mut self, id: Id) -> Option<T> {
        let (generation, value) = &mut self.places[id.index as usize];
        if *generation != id.generation {
            return None;
        }
        let value = value.take()?;
        *generation = generation.wrapping_add(1);
        self.free.push(id.index);
        Some(value)
    }
}

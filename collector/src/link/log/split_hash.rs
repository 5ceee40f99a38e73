//! The commHash of a communicator that was split from another (NCCL 2.26 and later,
//! `src/include/utils.h` and `ncclCommSplit` in `src/init.cc`).

/// The hash of the child with this number (from 1) and colour.
pub(super) fn of_child(parent: u64, number: u32, color: i32) -> u64 {
    let mut state = State { low: 1, high: 1 };
    state.eat(parent, 8);
    state.eat(u64::from(number), 4);
    state.eat(u64::from(color.cast_unsigned()), 4);
    state.digest()
}

/// Two lanes that each input of at most 8 bytes goes through.
struct State {
    low: u64,
    high: u64,
}

impl State {
    fn eat(&mut self, word: u64, len: u64) {
        self.low = (self.low ^ len).wrapping_add(self.high);
        self.high ^= self.low;
        self.low = (self.low ^ (self.low >> 31)).wrapping_mul(0x9de6_2bbc_8cef_3ce3);
        self.high = (self.high ^ (self.high >> 32)).wrapping_mul(0x485c_d631_1b59_9e79);
        self.low = self.low.wrapping_add(word);
    }

    fn digest(&self) -> u64 {
        let hash = (self.low ^ (self.low >> 31)).wrapping_mul(0xbac3_bd56_2846_de6b);
        let hash = hash.wrapping_add(self.high);
        (hash ^ (hash >> 32)).wrapping_mul(0x995a_187a_14e7_b445)
    }
}

#[cfg(test)]
mod tests {
    use super::of_child;

    /// A real split of NCCL 2.27.5: the hashes are the magics that its children's sockets sent.
    #[test]
    fn children_of_a_real_split() {
        let parent = 0xf9ca_0a48_5f4f_1080;
        assert_eq!(of_child(parent, 1, 0), 0xbe9d_4fa7_cb01_4d2d);
        assert_eq!(of_child(parent, 1, 1), 0x1497_91b6_4879_b80e);
    }
}

//! Hashes and ids that real NCCL printed or sent.

use std::net::SocketAddr;

use railscope_core::decode::nccl::hash::{CharSign, HashFunction};
use railscope_core::decode::nccl::{comm_hash, pid_hash, unique_id};
use railscope_core::model::nccl::Release;

const CHARS: CharSign = CharSign::Signed;

fn function(release: Release) -> HashFunction {
    HashFunction::for_release(release, CHARS)
}

#[test]
fn comm_hashes_of_real_communicators() {
    #[rustfmt::skip]
    let rows: [(_, u64, &str, u64); 6] = [
        (Release::new(2, 18, 6), 0xe301_18eb_7c57_61a9, "192.168.50.1:47825", 0x9e5e_dec8_fd9b_eec5),
        (Release::new(2, 21, 5), 0xfc74_4f3f_090d_0d00, "192.168.50.1:35121", 0x3edf_3132_2318_b575),
        (Release::new(2, 27, 5), 0x035e_8ca4_f4bb_21fd, "192.168.50.1:35209", 0x0ed0_4865_336c_0448),
        (Release::new(2, 27, 5), 0x0389_ffbe_3473_482c, "192.168.50.3:44101", 0x3d6f_c2c8_2d1e_e4e2),
        (Release::new(2, 28, 9), 0x55f1_9ef5_b36b_3d83, "192.168.50.1:51161", 0x88ba_9b74_ce25_7a3b),
        (Release::new(2, 30, 7), 0x3220_678e_1f0c_38c4, "192.168.50.1:51521", 0xec15_109e_b0ba_682f),
    ];
    for (release, magic, root, expected) in rows {
        let root: SocketAddr = root.parse().unwrap();
        let id = unique_id::from_magic(magic, root);
        assert_eq!(comm_hash::of_id(&id, function(release)), expected, "{release}");
    }
}

#[test]
fn comm_hashes_of_real_splits() {
    let parent = 0xf9ca_0a48_5f4f_1080;
    let children = [(0, 0xbe9d_4fa7_cb01_4d2d), (1, 0x1497_91b6_4879_b80e)];
    for (color, expected) in children {
        let child = comm_hash::of_split(parent, 1, color, function(Release::new(2, 27, 5)));
        assert_eq!(child, expected);
    }
}

#[test]
fn ids_of_real_logs() {
    let rows: [(u64, &str, u64); 2] = [
        (0xe301_18eb_7c57_61a9, "192.168.50.1:47825", 0x58b3_881f_f264_28af),
        (0xfc74_4f3f_090d_0d00, "192.168.50.1:35121", 0xee3e_8379_b95d_1589),
    ];
    for (magic, root, expected) in rows {
        let id = unique_id::from_magic(magic, root.parse().unwrap());
        assert_eq!(comm_hash::logged_id(&id, CHARS), expected);
    }
}

#[test]
fn processes_of_real_ranks() {
    // NCCL 2.18.6 and 2.21.5: pidHash on the wire, commHash, PID.
    let rows = [
        (0xe0c0_da51_3741_d7a4, 0x9e5e_dec8_fd9b_eec5, 346),
        (0xb775_9be6_94d7_cf63, 0x9e5e_dec8_fd9b_eec5, 347),
        (0xe295_f38c_2bb6_9016, 0x9e5e_dec8_fd9b_eec5, 348),
        (0x9513_62c2_2484_c73d, 0x9e5e_dec8_fd9b_eec5, 350),
        (0xca56_0233_7244_daac, 0x3edf_3132_2318_b575, 595),
        (0xeda4_c002_c7fb_d4e9, 0x3edf_3132_2318_b575, 596),
        (0xc766_c35c_5bd2_d46f, 0x3edf_3132_2318_b575, 598),
        (0x2972_0997_871a_7bb0, 0x3edf_3132_2318_b575, 599),
    ];
    for (hash, communicator, pid) in rows {
        assert_eq!(pid_hash::find_pid(hash, communicator), Some(pid));
    }
}

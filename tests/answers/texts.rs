//! Texts of jobs and nodes in which nothing is wrong.

/// The log of a whole start of two ranks on two hosts. `network` is `IB`, or a plugin's name.
pub fn job(release: &str, network: &str, extra: &str) -> String {
    let mut log = String::new();
    for rank in 0..2 {
        let start = format!("n{rank}:{}:{} [0] NCCL INFO", 100 + rank, 200 + rank);
        let own = format!(
            "ncclCommInitRankConfig comm 0x5{rank} rank {rank} nranks 2 cudaDev 0 nvmlDev 0 busId 1a000 commId 0x7a7b7c7d"
        );
        let lines = [
            format!("Bootstrap : Using eth0:10.1.0.{}<0>", rank + 1),
            format!("NCCL version {release}+cuda12.8"),
            extra.to_owned(),
            format!(
                "NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.1.0.{}<0>",
                rank + 1
            ),
            format!("Using network {network}"),
            format!("{own} - Init START"),
            format!(
                "Channel 00/0 : {}[0] -> {rank}[0] [receive] via NET/{network}/0/GDRDMA",
                1 - rank
            ),
            format!(
                "Channel 00/0 : {rank}[0] -> {}[0] [send] via NET/{network}/0/GDRDMA",
                1 - rank
            ),
            "Connected all rings".to_owned(),
            "Connected all trees".to_owned(),
            format!("{own} - Init COMPLETE"),
        ];
        for line in lines.iter().filter(|line| !line.is_empty()) {
            log.push_str(&format!("{start} {line}\n"));
        }
    }
    log
}

/// A table of AllReduce with `hosts` of eight ranks, and the node's ports of 400 Gb/s.
pub fn table(hosts: u32, busbw: f64) -> String {
    let mut text = "root@n0:~# all_reduce_perf -b 1G -e 1G\n#\n# Using devices\n".to_owned();
    for rank in 0..hosts * 8 {
        let (host, device) = (rank / 8, rank % 8);
        text.push_str(&format!(
            "#  Rank {rank:2} Group  0 Pid {} on  n{host} device  {device} [0000:{:x}:00] NVIDIA H100\n",
            4000 + rank,
            16 + device
        ));
    }
    let factor = f64::from(2 * (hosts * 8 - 1)) / f64::from(hosts * 8);
    let algbw = busbw / factor;
    let time = 1_073.741_824 / algbw * 1000.0;
    text.push_str(&format!(
        "#\n#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n\
         #        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n\
         {0:>12} {1:>13}     float     sum      -1 {time:8.1} {algbw:7.2} {busbw:7.2}      0 {time:8.1} {algbw:7.2} {busbw:7.2}      0\n\
         # Out of bounds values : 0 OK\nroot@n0:~# ibstat\n",
        1_073_741_824_u64, 268_435_456_u64
    ));
    for port in 0..8 {
        text.push_str(&format!(
            "CA 'mlx5_{port}'\n\tCA type: MT4129\n\tNumber of ports: 1\n\tPort 1:\n\t\tState: Active\n\
             \t\tPhysical state: LinkUp\n\t\tRate: 400\n\t\tLink layer: Ethernet\n"
        ));
    }
    text
}

/// RAS's text where nothing is wrong.
pub fn ras_text(nodes: u32) -> String {
    format!(
        "NCCL version 2.26.2 compiled with CUDA 12.6\nCUDA runtime version 12060, driver version 12060\n\n\
         Job summary\n===========\n\n  Nodes  Processes         GPUs  Processes     GPUs\n\
         (total)   per node  per process    (total)  (total)\n\
         {nodes:7}          8            1 {0:10} {0:8}\n\nCommunicators... (0.00s)\n=============\n\n\
         Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n    \
         #  in group  per comm  per node  per comm  in group\n    \
         0         1 {nodes:9}         8 {0:9} {0:9}   RUNNING      OK\n\n\
         Errors\n======\n\nWarnings\n========\n",
        nodes * 8
    )
}

/// RAS's JSON where all ranks have launched as much.
pub fn ras_json(ranks: u32, time: &str, launched: u64) -> String {
    let rank = |rank: u32| {
        serde_json::json!({
            "rank": rank, "host": format!("10.1.0.{}", rank + 1), "pid": 4000 + rank, "cuda_dev": 0, "nvml_dev": 0,
            "status": {"init_state": 0, "async_error": 0, "finalize_called": false, "destroy_flag": false,
                       "abort_flag": false},
            "collective_counts": {"Broadcast": 1, "Reduce": 0, "AllGather": launched, "ReduceScatter": 0,
                                  "AllReduce": launched},
        })
    };
    let ranks_list: Vec<_> = (0..ranks).map(rank).collect();
    serde_json::json!({
        "nccl_version": "2.30.7", "cuda_runtime_version": 13000, "cuda_driver_version": 13000, "timestamp": time,
        "communicators_count": 1,
        "communicators": [{"hash": "0x27a079b828ff1a75", "secondary_hash": "0x1:0x2", "size": ranks,
                           "ranks_count": ranks, "missing_ranks_count": 0, "ranks": ranks_list, "missing_ranks": []}],
        "ras": {"collection_time_sec": 0.002, "timeouts_count": 0},
    })
    .to_string()
}

/// A dump of the flight recorder of one of two ranks, all collectives done.
pub fn dump(rank: u32, calls: u64) -> String {
    let call = |number: u64| {
        serde_json::json!({
            "record_id": number - 1, "pg_id": 0, "process_group": ["0", "default_pg"], "collective_seq_id": number,
            "p2p_seq_id": 0, "op_id": number, "profiling_name": "nccl:all_reduce",
            "time_created_ns": 1_795_632_431_000_000_000_u64 + number, "input_sizes": [[1024]], "input_dtypes": ["Float"],
            "output_sizes": [[1024]], "output_dtypes": ["Float"], "state": "completed",
            "time_discovered_started_ns": null, "time_discovered_completed_ns": null, "retired": true,
            "timeout_ms": 600_000, "is_p2p": false,
        })
    };
    let entries: Vec<_> = (1..=calls).map(call).collect();
    serde_json::json!({
        "version": "2.9", "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}},
        "nccl_version": "2.28.9", "rank": rank, "entries": entries,
        "pg_status": {"0": {"last_enqueued_collective": calls, "last_started_collective": calls,
                            "last_completed_collective": calls}},
    })
    .to_string()
}

/// Two threads of a rank that trains.
pub const BUSY_STACKS: &str = "PID 77 - process\nTID 77:\n#0  0x0000f1a2 cudaStreamSynchronize\n#1  0x0000f1b3 main\n\
    TID 131:\n#0  0x0000f2a2 __sched_yield\n#1  0x0000f2c4 ncclProxyProgress(void*)\n";

/// Settings as RoCE wants them.
pub const QOS: &str = "root@n0:~# mlnx_qos -i eth1\nDCBX mode: OS controlled\nPriority trust state: dscp\ndscp2prio mapping:\n\
    \tprio:0 dscp:07,06,05,04,03,02,01,00,\n\tprio:3 dscp:31,30,29,28,27,26,25,24,\n\tprio:6 dscp:55,54,53,52,51,50,49,48,\n\
    PFC configuration:\n\tpriority    0   1   2   3   4   5   6   7\n\tenabled     0   0   0   1   0   0   0   0\n";

/// Counters at zero.
pub const ETHTOOL: &str = "root@n0:~# ethtool -S eth1\nNIC statistics:\n     rx_out_of_buffer: 0\n     rx_discards_phy: 0\n     \
    rx_prio3_pause: 0\n     tx_prio3_pause: 0\n     rx_prio3_discards: 0\n";

/// Counters of RDMA at zero.
pub const RDMA_STATISTIC: &str = "link mlx5_0/1 rx_write_requests 91 out_of_buffer 0 out_of_sequence 0 packet_seq_err 0 \
    rnr_nak_retry_err 0 local_ack_timeout_err 0 req_cqe_error 0 resp_cqe_error 0\n";

/// GIDs with an address.
pub const GIDS: &str = "DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4  \t\tVER\tDEV\n---\t----\t-----\t---\t\t\t\t\t------------  \t---\t---\n\
    mlx5_0\t1\t2\t0000:0000:0000:0000:0000:ffff:0a01:0001\t10.1.0.1  \tv1\teth1\n\
    mlx5_0\t1\t3\t0000:0000:0000:0000:0000:ffff:0a01:0001\t10.1.0.1  \tv2\teth1\nn_gids_found=2\n";

/// Ports that are up.
pub const PORTS: &str = "mlx5_0 port 1 ==> eth1 (Up)\nmlx5_1 port 1 ==> eth2 (Up)\n";

/// Counters in sysfs.
pub const SYSFS: &str = "/sys/class/infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence:0\n\
    /sys/class/infiniband/mlx5_0/ports/1/hw_counters/local_ack_timeout_err:0\n\
    /sys/class/infiniband/mlx5_0/ports/1/hw_counters/packet_seq_err:0\n";

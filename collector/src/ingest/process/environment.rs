//! `/proc/PID/environ`: the variables that Slurm sets for its tasks (sbatch(1) and srun(1), "OUTPUT
//! ENVIRONMENT VARIABLES").

use railscope_core::model::process::SlurmTask;

/// Steps that have a name in place of a number (`slurm.h`, `SLURM_BATCH_SCRIPT` and its
/// neighbours).
const NAMED: [(&str, &str); 3] =
    [("4294967291", "batch"), ("4294967292", "extern"), ("4294967290", "interactive")];

/// Characters kept of a job's name, which whoever started the process may have set to anything.
const NAME_LIMIT: usize = 128;

/// The Slurm task that the environment names; `None` if it names none.
#[must_use]
pub fn slurm_task(environment: &[u8]) -> Option<SlurmTask> {
    let variable = |name: &str| {
        let mut variables = environment.split(|byte| *byte == 0);
        let value =
            variables.find_map(|one| one.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
        std::str::from_utf8(value).ok()
    };
    let number = |name: &str| variable(name)?.parse::<u32>().ok();
    let slurm_step = variable("SLURM_STEP_ID").or_else(|| variable("SLURM_STEPID"));
    Some(SlurmTask {
        job: number("SLURM_JOB_ID").or_else(|| number("SLURM_JOBID"))?,
        slurm_step: slurm_step.and_then(slurm_step_name),
        local_task: number("SLURM_LOCALID"),
        task: number("SLURM_PROCID"),
        name: variable("SLURM_JOB_NAME").map(|name| name.chars().take(NAME_LIMIT).collect()),
        array: number("SLURM_ARRAY_JOB_ID").zip(number("SLURM_ARRAY_TASK_ID")),
    })
}

fn slurm_step_name(text: &str) -> Option<String> {
    if let Some((_, name)) = NAMED.iter().find(|(number, _)| *number == text) {
        return Some((*name).to_owned());
    }
    text.parse::<u32>().ok().map(|number| number.to_string())
}

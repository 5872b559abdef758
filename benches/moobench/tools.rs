//! The tools on this machine: other hosts, other recorders, a Collector. `scripts/bench` fetches them, and variables of the environment
//! say where they are.

use crate::child_job::ChildJob;
use crate::server::{self, Ports, Server};
use crate::way::Way;
use crate::whamm;
use anyhow::{Context, ensure};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What there is.
#[derive(Default)]
pub(crate) struct Tools {
    pub(crate) node: Option<PathBuf>,
    /// Whether the package for it serves modules with their recorder inside.
    pub(crate) node_inside: bool,
    pub(crate) java: Option<PathBuf>,
    /// Kieker's agent, with AspectJ.
    pub(crate) kieker: Option<PathBuf>,
    /// OpenTelemetry's agent for Java.
    pub(crate) opentelemetry: Option<PathBuf>,
    /// whamm's rewriter.
    pub(crate) whamm: Option<PathBuf>,
    /// A folder of Python packages with wasmtime in it.
    pub(crate) guest_profiler: Option<PathBuf>,
    pub(crate) collector: Option<Collector>,
}

/// An OpenTelemetry Collector that takes spans and drops them.
pub(crate) struct Collector {
    pub(crate) endpoint: String,
    metrics: String,
    _server: Server,
    _ports: Ports<3>,
    _folder: tempfile::TempDir,
}

impl Tools {
    /// Nothing.
    pub(crate) fn none() -> Tools {
        Tools::default()
    }

    /// What is there; compiles the program for the JVM.
    pub(crate) fn find(root: &Path) -> anyhow::Result<Tools> {
        let named =
            |variable: &str| std::env::var_os(variable).map(PathBuf::from).filter(|path| path.exists());
        let own_node = root.join("host-runtime/js/node_modules/node-current/bin/node");
        let node = if own_node.exists() { own_node } else { PathBuf::from("node") };
        let has_package = root.join("host-runtime/js/dist/node/index.js").exists();
        let mut tools = Tools {
            node: Some(node).filter(|node| has_package && answers(node, "--version")),
            node_inside: std::fs::read_to_string(
                root.join("host-runtime/js/dist/common/recorder/recorder.js"),
            )
            .is_ok_and(|text| text.contains("attach(")),
            java: None,
            kieker: named("KPERF_KIEKER"),
            opentelemetry: named("KPERF_OTEL_AGENT"),
            whamm: whamm::program(),
            guest_profiler: named("KPERF_WASMTIME_PY"),
            collector: match std::env::var("KPERF_COLLECTOR") {
                Ok(binary) => Some(Collector::start(&binary)?),
                Err(_) => None,
            },
        };
        if answers(Path::new("javac"), "-version") {
            let classes = root.join("target/moobench/classes");
            let source = root.join("benches/moobench/jvm/Monitored.java");
            let status = Command::new("javac").arg("-d").arg(&classes).arg(source).status()?;
            ensure!(status.success(), "javac failed");
            tools.java = Some(classes);
        }
        Ok(tools)
    }

    /// Runs modules under node, one for each way.
    pub(crate) fn node(&self, child: &ChildJob, modules: &[PathBuf]) -> anyhow::Result<Command> {
        let mut command = Command::new(self.node.as_ref().context("no node")?);
        let ((size, count), export) = (child.job.batches(), child.job.workload.export());
        let (name, argument) = export.unwrap_or(("_start", 0));
        let way = |way: &Way| match way {
            Way::Recorder { inside: _, clock, target } => format!("{clock:?}-{target:?}"),
            Way::Profile { .. } => "Profile".to_owned(),
            way => format!("{way:?}"),
        };
        let job = json!({
            "ways": child.ways.iter().map(way).collect::<Vec<_>>(),
            "modules": modules,
            "order": child.order,
            "long": child.long,
            "program": child.job.workload.program().map(|program| program.for_node(&child.job.root)),
            "name": name,
            "size": size,
            "count": count,
            "argument": argument,
            "answer": child.job.answer(),
        });
        command
            .arg("--no-warnings")
            .arg(child.job.root.join("benches/moobench/node.mjs"))
            .arg(job.to_string());
        if let Some(endpoint) = &child.job.endpoint {
            command.env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint);
        }
        Ok(command)
    }

    /// Runs the recursion on the JVM.
    pub(crate) fn java(&self, child: &ChildJob) -> anyhow::Result<Command> {
        let mut command = Command::new("java");
        let (size, count) = child.job.batches();
        let (_, depth) = child.job.workload.export().context("no such program for the JVM")?;
        match child.ways.as_slice() {
            [Way::Kieker] => {
                let jar = self.kieker.as_ref().context("no Kieker")?;
                let storage = child.folder.display();
                // AspectJ defines classes by reflection.
                command.args(["--add-opens", "java.base/java.lang=ALL-UNNAMED"]);
                command.arg(format!("-javaagent:{}", jar.display())).args([
                    "-Dorg.aspectj.weaver.loadtime.configuration=META-INF/moobench.aop.xml".to_owned(),
                    "-Dkieker.monitoring.skipDefaultAOPConfiguration=true".to_owned(),
                    "-Dkieker.monitoring.writer=kieker.monitoring.writer.filesystem.FileWriter".to_owned(),
                    "-Dkieker.monitoring.writer.filesystem.FileWriter.logStreamHandler=\
                     kieker.monitoring.writer.filesystem.BinaryLogStreamHandler"
                        .to_owned(),
                    format!("-Dkieker.monitoring.writer.filesystem.FileWriter.customStoragePath={storage}"),
                ]);
            }
            [Way::OpenTelemetry] => {
                let jar = self.opentelemetry.as_ref().context("no OpenTelemetry")?;
                let endpoint = child.job.endpoint.as_ref().context("no Collector")?;
                command.arg(format!("-javaagent:{}", jar.display())).args([
                    "-Dotel.instrumentation.methods.include=Monitored[monitored]".to_owned(),
                    "-Dotel.metrics.exporter=none".to_owned(),
                    "-Dotel.logs.exporter=none".to_owned(),
                    format!("-Dotel.exporter.otlp.endpoint={endpoint}"),
                ]);
            }
            _ => {}
        }
        let jvm = child.job.root.join("benches/moobench/jvm");
        let classes = self.java.as_ref().context("no java")?;
        command.arg("-cp").arg(format!("{}:{}", classes.display(), jvm.display())).arg("Monitored");
        command.args([size, count, depth, child.job.answer()].map(|number| number.to_string()));
        Ok(command)
    }

    /// Runs a module under wasmtime for Python, whose profiler samples it.
    pub(crate) fn guest_profiler(&self, child: &ChildJob) -> anyhow::Result<Command> {
        let mut command = Command::new("python3");
        let job = &child.job;
        let ((size, count), (name, argument)) = (job.batches(), job.workload.export().context("no export")?);
        command.env("PYTHONPATH", self.guest_profiler.as_ref().context("no wasmtime for Python")?);
        command
            .arg(job.root.join("benches/moobench/guest_profiler.py"))
            .arg(job.workload.module(&job.root))
            .arg(name);
        command.args([size, count, argument, job.answer()].map(|number| number.to_string()));
        Ok(command)
    }
}

fn answers(program: &Path, flag: &str) -> bool {
    Command::new(program).arg(flag).output().is_ok_and(|output| output.status.success())
}

/// The first line that a program says of its version.
pub(crate) fn version(program: &Path, flag: &str) -> Option<String> {
    let output = Command::new(program).arg(flag).output().ok()?;
    let said = [output.stdout, output.stderr].concat();
    Some(String::from_utf8_lossy(&said).lines().next()?.to_owned())
}

impl Collector {
    fn start(binary: &str) -> anyhow::Result<Collector> {
        let folder = tempfile::tempdir()?;
        let ports = Ports::free();
        let [http, health, metrics] = ports.numbers;
        let config = format!(
            "
extensions: {{health_check: {{endpoint: '127.0.0.1:{health}'}}}}
receivers: {{otlp: {{protocols: {{http: {{endpoint: '127.0.0.1:{http}'}}}}}}}}
exporters: {{nop: {{}}}}
service:
  extensions: [health_check]
  pipelines: {{traces: {{receivers: [otlp], exporters: [nop]}}}}
  telemetry:
    logs: {{level: warn}}
    metrics: {{readers: [{{pull: {{exporter: {{prometheus: {{host: 127.0.0.1, port: {metrics}}}}}}}}}]}}
"
        );
        let server = Server::start(binary, folder.path(), &config, &format!("http://127.0.0.1:{health}/"));
        Ok(Collector {
            endpoint: format!("http://127.0.0.1:{http}"),
            metrics: format!("http://127.0.0.1:{metrics}/metrics"),
            _server: server,
            _ports: ports,
            _folder: folder,
        })
    }

    /// How many spans it has taken so far.
    pub(crate) fn accepted(&self) -> u64 {
        let text = server::get(&self.metrics).unwrap_or_default();
        let rows = text.lines().filter(|line| line.starts_with("otelcol_receiver_accepted_spans"));
        rows.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum::<f64>() as u64
    }
}

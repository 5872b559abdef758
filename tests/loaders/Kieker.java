import java.util.TreeMap;

import kieker.analysis.AnalysisController;
import kieker.analysis.plugin.annotation.InputPort;
import kieker.analysis.plugin.annotation.Plugin;
import kieker.analysis.plugin.filter.AbstractFilterPlugin;
import kieker.analysis.plugin.reader.filesystem.FSReader;
import kieker.analysis.IProjectContext;
import kieker.common.configuration.Configuration;
import kieker.tools.trace.analysis.filter.AbstractTraceAnalysisFilter;
import kieker.tools.trace.analysis.filter.executionRecordTransformation.ExecutionRecordTransformationFilter;
import kieker.tools.trace.analysis.filter.traceReconstruction.TraceReconstructionFilter;
import kieker.tools.trace.analysis.systemModel.Execution;
import kieker.tools.trace.analysis.systemModel.ExecutionTrace;
import kieker.tools.trace.analysis.systemModel.repository.SystemModelRepository;

/** Reads a folder of records with Kieker's own reader and trace reconstruction; prints how often what was called. */
public class Kieker {
    public static void main(String[] arguments) throws Exception {
        AnalysisController controller = new AnalysisController();
        Configuration folder = new Configuration();
        folder.setProperty(FSReader.CONFIG_PROPERTY_NAME_INPUTDIRS, arguments[0]);
        FSReader reader = new FSReader(folder, controller);
        SystemModelRepository model = new SystemModelRepository(new Configuration(), controller);
        ExecutionRecordTransformationFilter executions =
                new ExecutionRecordTransformationFilter(new Configuration(), controller);
        TraceReconstructionFilter traces = new TraceReconstructionFilter(new Configuration(), controller);
        Counter counter = new Counter(new Configuration(), controller);
        controller.connect(executions, AbstractTraceAnalysisFilter.REPOSITORY_PORT_NAME_SYSTEM_MODEL, model);
        controller.connect(traces, AbstractTraceAnalysisFilter.REPOSITORY_PORT_NAME_SYSTEM_MODEL, model);
        controller.connect(reader, FSReader.OUTPUT_PORT_NAME_RECORDS,
                executions, ExecutionRecordTransformationFilter.INPUT_PORT_NAME_RECORDS);
        controller.connect(executions, ExecutionRecordTransformationFilter.OUTPUT_PORT_NAME_EXECUTIONS,
                traces, TraceReconstructionFilter.INPUT_PORT_NAME_EXECUTIONS);
        controller.connect(traces, TraceReconstructionFilter.OUTPUT_PORT_NAME_EXECUTION_TRACE, counter, "traces");
        controller.run();
        System.out.println(counter.traces + " traces, " + traces.getInvalidTraces().size() + " invalid");
        counter.calls.forEach((name, calls) -> System.out.println(calls + " " + name));
    }

    /** Counts executions by signature. */
    @Plugin
    public static class Counter extends AbstractFilterPlugin {
        final TreeMap<String, Integer> calls = new TreeMap<>();
        int traces;

        public Counter(Configuration configuration, IProjectContext context) {
            super(configuration, context);
        }

        @InputPort(name = "traces", eventTypes = {ExecutionTrace.class})
        public void trace(ExecutionTrace trace) throws Exception {
            traces++;
            // Throws where places and depths don't fit together.
            trace.toMessageTrace(SystemModelRepository.ROOT_EXECUTION);
            for (Execution execution : trace.getTraceAsSortedExecutionSet()) {
                String type = execution.getOperation().getComponentType().getFullQualifiedName();
                String name = type + "." + execution.getOperation().getSignature().getName();
                calls.merge(name, 1, Integer::sum);
            }
        }

        @Override
        public Configuration getCurrentConfiguration() {
            return new Configuration();
        }
    }
}

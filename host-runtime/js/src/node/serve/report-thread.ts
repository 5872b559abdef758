/** Makes a page's report, in a thread. */

import { parentPort, workerData } from 'node:worker_threads';
import { pageText } from '../cli-report.js';

/** The thread's input. */
export interface ReportData {
    kperf: 'report';
    path: string;
    top: number;
}

const { path, top } = workerData as ReportData;
parentPort?.postMessage(pageText(path, top));

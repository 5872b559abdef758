/** The thread that makes a page's report. */

import { parentPort, workerData } from 'node:worker_threads';
import { pageText } from '../cli-report.js';

/** What the thread begins with. */
export interface ReportData {
    kperf: 'report';
    path: string;
    top: number;
}

const { path, top } = workerData as ReportData;
parentPort?.postMessage(await pageText(path, top));

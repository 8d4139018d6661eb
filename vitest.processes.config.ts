import { defineConfig, mergeConfig } from 'vitest/config';
import { processes } from './test/processes.ts';
import base from './vitest.config.ts';

/** Tests that start hundreds of processes; `npm run test:processes`. */
const merged = mergeConfig(base, defineConfig({ test: { isolate: true } }));
merged.test.include = processes;
merged.test.exclude = ['node_modules/**'];
export default merged;

import { test } from 'bun:test';
import { bunRuntime } from '../../src/runtime/bun.ts';
import { sqliteFileTests } from './sqlite-file.suite.ts';

sqliteFileTests(test, bunRuntime.openSqlite, []);

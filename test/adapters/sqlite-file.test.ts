import { test } from 'bun:test';
import { bunRuntime } from '../../src/runtime/bun.ts';
import { sqliteFileTests } from './sqlite-file.suite.ts';
import { sqliteUpgradeTests } from './sqlite-upgrade.suite.ts';

sqliteFileTests(test, bunRuntime, []);
sqliteUpgradeTests(test, bunRuntime.openSqlite, []);

/**
 * Writes docs/benchmarks.md and the README's table from a run that was kept: `npm run bench -- --json > run.json`.
 *
 *   npx tsx bench/write-pages.ts run.json
 */
import { readFileSync } from 'node:fs'
import { writePages, type Run } from './compare/page.ts'

writePages(JSON.parse(readFileSync(process.argv[2] ?? 'run.json', 'utf8')) as Run)

/** Plimsoll as it ships: every guard on, the embedded store on disk. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPlimsoll } from '../../src/index.ts'
import { startProxy } from '../../src/surfaces/gateway/proxy.ts'

const folder = mkdtempSync(join(tmpdir(), 'plimsoll-bench-'))
const plimsoll = createPlimsoll({ store: `sqlite:${join(folder, 'plimsoll.db')}` })
const proxy = await startProxy(plimsoll.gateway, { port: 0, upstreams: { openai: process.argv[2]! } })
process.on('message', () => process.send?.({ rss: process.memoryUsage().rss }))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
process.on('SIGTERM', () => process.exit(0))
process.send?.({ port: Number(new URL(proxy.url).port) })

/** Plimsoll as it is built and shipped: every guard on, the embedded store on disk. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The build need not be there when this file is type-checked. */
const built = (file: string): string => new URL(`../../dist/${file}`, import.meta.url).href
const { createPlimsoll } = (await import(built('index.js'))) as typeof import('../../src/index.ts')
const { startProxy } = (await import(built('gateway/proxy.js'))) as typeof import('../../src/gateway/proxy.ts')

const { collectSooner } = (await import(built('cli/heap-growth.js'))) as typeof import('../../src/cli/heap-growth.ts')

collectSooner()
const folder = mkdtempSync(join(tmpdir(), 'plimsoll-bench-'))
const store = process.argv[3] || `sqlite:${join(folder, 'plimsoll.db')}`
const plimsoll = createPlimsoll({ store, tools: process.argv[4] !== 'no-tools' })
const proxy = await startProxy(plimsoll.gateway, { port: 0, upstreams: { openai: process.argv[2]! } })
process.on('message', (wanted: 'resident' | 'live') => {
  const { rss } = process.memoryUsage()
  // What is really held; without `--expose-gc` the number is left out. Who collects changes what is resident afterwards.
  if (wanted === 'live') globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  const isKnown = wanted === 'live' && globalThis.gc !== undefined
  process.send?.({ rss, ...(isKnown && { live: heapUsed + external }) })
})
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
process.on('SIGTERM', () => process.exit(0))
process.send?.({ port: Number(new URL(proxy.url).port) })

import { setFlagsFromString } from 'node:v8'
import { createPlimsoll } from '../../src/index.ts'
import { startProxy } from '../../src/gateway/proxy.ts'

/** A proxy as a process of its own: says its address, and logs the shapes that V8 makes once it is told to. */
const [upstream = '', tools] = process.argv.slice(2)
const plimsoll = createPlimsoll({ store: 'memory:', artifacts: 'memory:', tools: tools === 'tools' })
const proxy = await startProxy(plimsoll.gateway, { port: 0, upstreams: { openai: upstream } })
process.on('message', (word) => {
  if (word === 'end') return void proxy.close().then(() => process.exit(0))
  setFlagsFromString('--log-maps')
  process.send?.('logging')
})
process.send?.(proxy.url)

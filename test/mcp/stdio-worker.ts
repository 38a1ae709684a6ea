import { serveMcpStdio } from '../../src/mcp/index.ts'
import { openPlimsoll } from './conversations.ts'

const [store, artifacts, scope] = process.argv.slice(2)
const plimsoll = openPlimsoll({ store: store!, artifacts: artifacts! })
const served = await serveMcpStdio(plimsoll, JSON.parse(scope!) as object)
await served.ended
await served.close()
await plimsoll.close()

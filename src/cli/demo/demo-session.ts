import type { Gateway } from '../../gateway/gateway.ts'
import { startProxy } from '../../gateway/proxy.ts'
import { startReferee } from '../../testing/referee/index.ts'
import { DEMO_FORMAT, DEMO_WIRE } from '../../formats/wires.ts'
import { runAgent } from './agent.ts'
import { scriptOf } from './incident.ts'

const TURNS = 60
const WINDOW = 32_000

/** Lets the demo's agent work through a gateway that others use too: its session appears like any other. Ends by itself. */
export async function runDemoSession(gateway: Gateway): Promise<void> {
  const referee = await startReferee({
    wire: DEMO_FORMAT,
    window: WINDOW,
    script: scriptOf(TURNS),
    cache: { minimumTokens: 1 },
  })
  const upstream = { url: referee.url, window: WINDOW }
  const proxy = await startProxy(gateway, { port: 0, upstreams: { [DEMO_WIRE.endpoint.name]: upstream } })
  try {
    const turns = runAgent(`${proxy.url}/${DEMO_WIRE.endpoint.name}`)
    // The agent goes on until the model has no more to say.
    while ((await turns.next()).done !== true);
  } finally {
    await proxy.close()
    await referee.close()
  }
}

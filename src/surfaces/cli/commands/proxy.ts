import { Command } from 'commander'
import { createPlimsoll } from '../../../plimsoll.ts'
import { startProxy } from '../../gateway/proxy.ts'
import { wholeNumber } from '../whole-number.ts'

interface ProxyFlags {
  readonly port: number
  readonly host: string
  readonly anthropic: string
  readonly openai: string
  readonly gemini: string
  readonly window?: number
  readonly policy: string
  readonly store?: string
  readonly artifacts?: string
  readonly json?: boolean
}

export function proxyCommand(): Command {
  return new Command('proxy')
    .description('Stand in front of any agent: set its base URL to this proxy and it stays inside its window.')
    .option('--port <n>', 'port to listen on; 0 picks one', wholeNumber, 4141)
    .option('--host <address>', 'address to bind', '127.0.0.1')
    .option('--anthropic <url>', 'upstream behind /anthropic', 'https://api.anthropic.com')
    .option('--openai <url>', 'upstream behind /openai', 'https://api.openai.com')
    .option('--gemini <url>', 'upstream behind /gemini', 'https://generativelanguage.googleapis.com')
    .option('--window <tokens>', 'window of the upstream, when the catalogue does not know it', wholeNumber)
    .option('--policy <name>', 'policy to apply', 'plimsoll')
    .option('--store <url>', 'memory: or sqlite:./plimsoll.db')
    .option('--artifacts <url>', 'memory: or file:./artifacts')
    .option('--json', 'one JSON line per request on standard output')
    .addHelpText(
      'after',
      '\nExample:\n  $ plimsoll proxy --port 4141\n  $ export ANTHROPIC_BASE_URL=http://127.0.0.1:4141/anthropic',
    )
    .action(runProxy)
}

async function runProxy(flags: ProxyFlags): Promise<void> {
  const plimsoll = createPlimsoll({
    policy: flags.policy,
    ...(flags.store !== undefined && { store: flags.store }),
    ...(flags.artifacts !== undefined && { artifacts: flags.artifacts }),
    ...(flags.window !== undefined && { window: flags.window }),
  })
  const say = (line: unknown, text: string): void =>
    void process.stdout.write(flags.json === true ? `${JSON.stringify(line)}\n` : `${text}\n`)
  const proxy = await startProxy(plimsoll.gateway, {
    port: flags.port,
    host: flags.host,
    upstreams: { anthropic: flags.anthropic, openai: flags.openai, gemini: flags.gemini },
    onRequest: (line) => {
      const load = line.load === undefined ? '' : `  ${line.load}/${line.limit} tokens`
      say(
        line,
        `${line.status} ${line.method} ${line.path}  ${line.ms} ms${load}${line.epoch === undefined ? '' : `  ${line.epoch}`}`,
      )
    },
  })
  say(
    { listening: proxy.url },
    `Listening on ${proxy.url}\n  ANTHROPIC_BASE_URL=${proxy.url}/anthropic\n  OPENAI_BASE_URL=${proxy.url}/openai/v1\n  GOOGLE_GEMINI_BASE_URL=${proxy.url}/gemini`,
  )
  await new Promise<void>((resolve) => {
    process.once('SIGTERM', resolve)
    process.once('SIGINT', resolve)
  })
  await proxy.close()
  await plimsoll.close()
}

import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { Command } from 'commander'
import { baseUrlsAt } from '../../../formats/endpoints.ts'
import { openProxy } from '../open-proxy.ts'
import { addProxyOptions, settingsOf, type ProxyFlags } from '../proxy-options.ts'
import { EXIT } from '../exit-codes.ts'

export function runCommand(): Command {
  const command = new Command('run')
    .description('Run one command with a proxy of its own: its base URLs point there, and the proxy ends with it.')
    .argument('<command...>', 'what to run')
    .passThroughOptions()
  return addProxyOptions(command)
    .addHelpText('after', '\nExample:\n  $ plimsoll run -- claude "fix the build"')
    .action(runUnder)
}

async function runUnder([file = '', ...args]: string[], flags: ProxyFlags): Promise<void> {
  const { proxy, close } = await openProxy({ ...settingsOf(flags), port: 0, host: '127.0.0.1' }, () => undefined)
  try {
    process.exitCode = await exitOf(file, args, baseUrls(proxy.url))
  } finally {
    await close()
  }
}

/** The variables by which agents and SDKs find their provider. */
export const baseUrls = (url: string): Record<string, string> => Object.fromEntries(baseUrlsAt(url, true))

function exitOf(file: string, args: readonly string[], env: Record<string, string>): Promise<number> {
  return new Promise((resolve) => {
    const child = spawn(file, args, { stdio: 'inherit', env: { ...process.env, ...env } })
    const forward = (signal: NodeJS.Signals): void => void child.kill(signal)
    process.on('SIGINT', forward)
    process.on('SIGTERM', forward)
    child.once('error', (error) => {
      process.stderr.write(`plimsoll: ${file} cannot be run: ${error.message}\n`)
      resolve(EXIT.usage)
    })
    child.once('exit', (code, signal) => {
      process.off('SIGINT', forward)
      process.off('SIGTERM', forward)
      // Shells report a signal as 128 plus its number.
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal]))
    })
  })
}

#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { isPlimsollError } from '../../core/errors.ts'
import { demoCommand } from './commands/demo.ts'
import { proxyCommand } from './commands/proxy.ts'
import { runCommand } from './commands/run.ts'
import { EXIT } from './exit-codes.ts'

const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
  version: string
}

const program = new Command('plimsoll')
  .description('The load line for LLM context windows.')
  .version(version)
  .showSuggestionAfterError()
  .enablePositionalOptions()
  .addCommand(demoCommand())
  .addCommand(proxyCommand())
  .addCommand(runCommand())

try {
  await program.parseAsync()
} catch (error) {
  if (!isPlimsollError(error)) throw error
  process.stderr.write(`plimsoll: ${error.message}\n`)
  process.exitCode = error.code === 'bad-input' || error.code === 'bad-config' ? EXIT.usage : EXIT.failure
}

#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { demoCommand } from './commands/demo.ts'
import { inspectCommand } from './commands/inspect.ts'
import { proxyCommand } from './commands/proxy.ts'
import { replayCommand } from './commands/replay.ts'
import { runCommand } from './commands/run.ts'
import { runProgram } from './run-program.ts'

const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
  version: string
}

const program = new Command('plimsoll')
  .description('The load line for LLM context windows.')
  .version(version)
  .showSuggestionAfterError()
  .enablePositionalOptions()
  .addCommand(inspectCommand())
  .addCommand(replayCommand())
  .addCommand(demoCommand())
  .addCommand(proxyCommand())
  .addCommand(runCommand())

await runProgram(program)

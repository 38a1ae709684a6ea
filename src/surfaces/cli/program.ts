import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { artifactsCommand } from './commands/artifacts.ts'
import { chatCommand } from './commands/chat.ts'
import { completionCommand } from './commands/completion.ts'
import { configCommand } from './commands/config.ts'
import { dashboardCommand } from './commands/dashboard.ts'
import { countCommand } from './commands/count.ts'
import { demoCommand } from './commands/demo.ts'
import { doctorCommand } from './commands/doctor.ts'
import { limitsCommand } from './commands/limits.ts'
import { initCommand } from './commands/init.ts'
import { inspectCommand } from './commands/inspect.ts'
import { modelsCommand } from './commands/models.ts'
import { proxyCommand } from './commands/proxy.ts'
import { replayCommand } from './commands/replay.ts'
import { runCommand } from './commands/run.ts'
import { sessionsCommand } from './commands/sessions.ts'
import { simulateCommand } from './commands/simulate.ts'
import { storeCommand } from './commands/store.ts'

const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
  version: string
}

/** The whole command line. */
export const createProgram = (): Command =>
  new Command('plimsoll')
    .description('The load line for LLM context windows.')
    .version(version)
    .showSuggestionAfterError()
    .enablePositionalOptions()
    .addCommand(initCommand())
    .addCommand(inspectCommand())
    .addCommand(replayCommand())
    .addCommand(demoCommand())
    .addCommand(chatCommand())
    .addCommand(proxyCommand())
    .addCommand(dashboardCommand())
    .addCommand(runCommand())
    .addCommand(simulateCommand())
    .addCommand(sessionsCommand())
    .addCommand(artifactsCommand())
    .addCommand(storeCommand())
    .addCommand(countCommand())
    .addCommand(modelsCommand())
    .addCommand(configCommand())
    .addCommand(limitsCommand())
    .addCommand(doctorCommand())
    .addCommand(completionCommand())

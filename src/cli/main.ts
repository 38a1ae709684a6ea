#!/usr/bin/env node
import { commandsFor, createProgram } from './program.ts'
import { runProgram } from './run-program.ts'

await runProgram(await createProgram(commandsFor(process.argv.slice(2))))

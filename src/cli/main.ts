#!/usr/bin/env node
import { commandsFor, createProgram, runProgram } from './program.ts'

await runProgram(await createProgram(commandsFor(process.argv.slice(2))))

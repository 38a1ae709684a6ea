import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import { subjectOf, testSessionStore } from './run-suite.ts'

testSessionStore('memory', () => subjectOf(memoryStore), { durable: false })

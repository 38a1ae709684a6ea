import { runTurns } from './long-session.ts'

/* Goes on with a session that another process began, and says what it sent. */

const [store = '', from = '1', to = '1'] = process.argv.slice(2)
process.stdout.write(`${JSON.stringify(await runTurns(store, Number(from), Number(to)))}\n`)

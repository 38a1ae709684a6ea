import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

export interface FlakyLine {
  readonly url: string
  /** The next COMMIT of a client is lost before it reaches the server, or is done there and its answer is lost. */
  loseNext(what: 'request' | 'answer'): void
  /** How many were lost so far. */
  lost(): number
  /** Everything that a client sends arrives so much later, or never. */
  delay(ms: number): void
  /** How many messages clients have sent. */
  messages(): number
  close(): Promise<void>
}

/** A line between a client and Postgres that breaks at the worst moment. */
export async function flakyLine(socket: string): Promise<FlakyLine> {
  let armed: 'request' | 'answer' | undefined
  let lost = 0
  let delayMs = 0
  let messages = 0
  const open = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(socket)
    let swallow = false
    const cut = (): void => {
      lost++
      client.destroy()
      upstream.destroy()
    }
    client.on('data', (message) => {
      const what = message.includes('COMMIT') ? armed : undefined
      if (what !== undefined) armed = undefined
      if (what === 'request') return cut()
      if (what === 'answer') swallow = true
      messages++
      const pass = (): unknown => upstream.destroyed || upstream.write(message)
      if (delayMs === 0) pass()
      else if (delayMs !== Infinity) setTimeout(pass, delayMs)
    })
    upstream.on('data', (answer) => (swallow ? cut() : client.write(answer)))
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(one)
      one.on('error', () => other.destroy())
      one.on('close', () => {
        open.delete(one)
        other.destroy()
      })
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `postgres://plimsoll@127.0.0.1:${(server.address() as AddressInfo).port}/postgres`,
    loseNext(what) {
      armed = what
    },
    lost: () => lost,
    delay(ms) {
      delayMs = ms
    },
    messages: () => messages,
    async close() {
      for (const one of open) one.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

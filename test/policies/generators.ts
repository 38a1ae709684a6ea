import { call, chars, model, result, user, type Content } from './session.ts'

/** The single-shot generators of the contextguard design, with its sizes. */

const range = <T>(count: number, make: (n: number) => T[]): T[] =>
  Array.from({ length: count }, (_, n) => make(n)).flat()

/** A round: user, three calls with results of 9,454, 2,835 and 19,300 characters, text; 8 messages of about 8,042 tokens. */
export const kube = (rounds: number): Content[] =>
  range(rounds, (n) => [
    user(`Check cluster ${n}`),
    ...[9_454, 2_835, 19_300].flatMap((size, t) => [
      call(`k${n}_${t}`, 'kubectl_get', { resource: 'pods', namespace: chars(60) }),
      result(`k${n}_${t}`, chars(size), 'kubectl_get'),
    ]),
    model(chars(300)),
  ])

/** Nothing but pairs: n × (48 + (size + 12) / 4) tokens. */
export const storm = (count: number, size: number): Content[] =>
  range(count, (n) => [call(`s${n}`, 'tool', { input: chars(180) }), result(`s${n}`, chars(size), 'tool')])

/** A round of ten messages: a file of 1,865 and a test run of 2,160 characters among them. */
export const coding = (rounds: number): Content[] =>
  range(rounds, (n) => [
    user(`Fix ${n}`),
    ...[1_865, 400, 2_160, 300].flatMap((size, t) => [call(`f${n}_${t}`), result(`f${n}_${t}`, chars(size))]),
    model('Fixed.'),
  ])

/** A debugging session of 27 messages: questions, short answers, logs and a dump. */
export const mixed = (): Content[] => [
  ...range(9, (n) => [
    user(`Why does step ${n} fail? ${chars(120)}`),
    ...(n % 2 === 0
      ? [call(`m${n}`, 'logs'), result(`m${n}`, chars(n % 4 === 0 ? 6_000 : 1_200), 'logs')]
      : [model(chars(400)), user(chars(80))]),
  ]),
]

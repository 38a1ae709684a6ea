/** The vendor is the same on both of its wires. */
export { endpoint } from '../openai-chat/endpoint.ts'

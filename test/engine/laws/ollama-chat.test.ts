import { describeLaws } from './laws.ts'

describeLaws('ollama-chat')

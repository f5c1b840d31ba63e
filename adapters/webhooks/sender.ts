import { Webhook } from 'standardwebhooks'
import type { SignedMessage, WebhookSender } from '../../core/webhooks/ports.ts'
import type { GuardedFetch } from '../outbound/guarded-fetch.ts'
import { FetchFailed } from '../outbound/guarded-fetch.ts'
import { EgressRefused } from '../outbound/egress-policy.ts'

/** Standard Webhooks advises 15 to 30 seconds. */
const timeoutMilliseconds = 15_000
/** What is kept of an answer's body. */
const answerBytes = 2_000

const contentTypes = { standard: 'application/json', cloudevents: 'application/cloudevents+json; charset=utf-8' }

/** The headers of Standard Webhooks. There is one signature for each secret, the present one first. */
const headersOf = ({ eventId, at, body, format, secrets }: SignedMessage): Readonly<Record<string, string>> => ({
  'content-type': contentTypes[format],
  'webhook-id': eventId,
  'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
  'webhook-signature': secrets.map((each) => new Webhook(each.reveal()).sign(eventId, at, body)).join(' '),
})

/** The text of bytes that may end within a character; without characters that no database stores. */
const readable = (bytes: Uint8Array): string => new TextDecoder().decode(bytes).replaceAll('\0', '')

/** WebhookSender that sends by HTTP. */
export const makeHttpWebhookSender = (
  fetch: GuardedFetch,
  limitMilliseconds: number = timeoutMilliseconds,
): WebhookSender => ({
  async send(message, signal) {
    const from = performance.now()
    const durationMs = (): number => Math.round(performance.now() - from)
    try {
      const answer = await fetch(
        {
          url: new URL(message.url),
          post: message.body,
          headers: headersOf(message),
          limitBytes: answerBytes,
          isCut: true,
          timeoutMilliseconds: limitMilliseconds,
        },
        signal,
      )
      answer.release?.()
      return { status: answer.status, answer: readable(answer.bytes), problem: '', durationMs: durationMs() }
    } catch (error) {
      const isKnown = error instanceof FetchFailed || error instanceof EgressRefused
      const problem = isKnown ? error.message : 'The message could not be sent.'
      return { status: undefined, answer: '', problem, durationMs: durationMs() }
    }
  },
})

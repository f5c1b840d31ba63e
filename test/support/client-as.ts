import type { Client, ClientReply } from '../../plugins/kit/client.ts'
import { makeClient } from '../../plugins/kit/client.ts'
import { httpSend } from './http-send.ts'
import type { SendOptions } from './send-json.ts'
import { headersOf } from './send-json.ts'

/** Returns the typed client of a service, for one caller. */
export const clientAs = ({ baseUrl }: { readonly baseUrl: string }, caller: Pick<SendOptions, 'token' | 'basic' | 'headers'>): Client =>
  makeClient(httpSend(baseUrl), '/api/v1', headersOf(caller))

/** The value of a call that must succeed. Rejects with the answer when it is a refusal. */
export const valueOf = async <R>(pending: ClientReply<R> | Promise<ClientReply<R>>): Promise<R> => {
  const reply = await pending
  if (!reply.ok) throw new Error(`${reply.status}: ${reply.text}`)
  return reply.value
}

import type { Access } from '../../plugins/kit/access.ts'
import type { Client, ClientInput, ClientReply, Received } from '../../plugins/kit/client.ts'
import { makeClient } from '../../plugins/kit/client.ts'
import type { Route } from '../../plugins/kit/route.ts'
import { httpSend } from './http-send.ts'
import type { SendOptions } from './send-json.ts'
import { headersOf } from './send-json.ts'

/** Returns the typed client of a service, for one caller. */
export const clientAs = (
  { baseUrl }: { readonly baseUrl: string },
  caller: Pick<SendOptions, 'token' | 'basic' | 'headers'>,
): Client => makeClient(httpSend(baseUrl), '/api/v1', headersOf(caller))

/** The answer that a route declares as its success. */
type Success<R> = Extract<ClientReply<R>, { readonly ok: true }>

/** The answer of a call that must succeed. Rejects when it is a refusal. */
const successOf = async <R>(pending: ClientReply<R> | Promise<ClientReply<R>>): Promise<Success<R>> => {
  const reply = await pending
  if (!reply.ok) throw new Error(`${reply.status}: ${reply.text}`)
  return reply
}

/** The value of a call that must succeed. Rejects when the answer is a refusal. */
export const valueOf = async <R>(pending: ClientReply<R> | Promise<ClientReply<R>>): Promise<R> =>
  (await successOf(pending)).value

type InputArgument<I> = Record<never, never> extends I ? readonly [input?: I] : readonly [input: I]

/** Calls a declared route with the credential of a caller. Rejects when the answer is a refusal. */
export type TypedCall = <P, Q, B, R, F extends string, X extends Access>(
  caller: string,
  route: Route<P, Q, B, R, F, X>,
  ...input: InputArgument<ClientInput<NoInfer<P>, NoInfer<Q>, NoInfer<B>>>
) => Promise<Success<Received<R>>>

/**
 * Returns a `TypedCall` to a service. `tokenOf` returns the access token of a caller, or undefined for an unknown one.
 */
export const makeTypedCall =
  (service: { readonly baseUrl: string }, tokenOf: (caller: string) => string | undefined): TypedCall =>
  async (caller, route, ...input) => {
    const token = tokenOf(caller)
    if (token === undefined) throw new Error(`the caller ${caller} has no token`)
    return successOf(clientAs(service, { token }).call(route, ...input))
  }

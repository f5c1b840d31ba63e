import type { Client, Provider } from 'oidc-provider'
import type { EndedSignIn, ProtocolCounters, SignInStore } from '../../core/authorization-server/ports.ts'
import type { Clock } from '../../core/kernel/clock.ts'
import { laterBySeconds } from '../../core/kernel/clock.ts'
import type { Log } from '../../core/kernel/log.ts'

interface ReportDeps {
  readonly signIns: Pick<SignInStore, 'end' | 'removeReported'>
  readonly counters: ProtocolCounters
  readonly clock: Clock
  readonly log: Log
}

/** A client of the library. The method is part of no documented interface: a test of the sign-out fails without it. */
type ReportedClient = Pick<Client, 'backchannelLogoutUri' | 'clientId'> & {
  backchannelLogout(subject: string, sid: string): Promise<void>
}

const retrySeconds = 60

/** Keeps what the library could not report at a sign-out, so that it is reported later. */
export const keepReports = (provider: Provider, { signIns, counters, clock, log }: ReportDeps): void => {
  const { prototype } = provider.Client as unknown as { readonly prototype: ReportedClient }
  const send = prototype.backchannelLogout
  prototype.backchannelLogout = async function backchannelLogout(subject, sid) {
    try {
      await send.call(this, subject, sid)
    } catch (error) {
      counters.request('back-channel logout', 'failed')
      log.warn({ error, clientId: this.clientId }, 'an application could not be told of a sign-out')
      await signIns.end(this.clientId, sid, laterBySeconds(clock.now(), retrySeconds))
      throw error
    }
    counters.request('back-channel logout', 'success')
    await signIns.removeReported(this.clientId, sid)
  }
}

/** Tells an application that a sign-in has ended. One that no longer wants to know has been told. */
export const reportSignOut = async (
  provider: Provider,
  { clientId, userId, sid }: Pick<EndedSignIn, 'clientId' | 'sid' | 'userId'>,
): Promise<boolean> => {
  const client = (await provider.Client.find(clientId)) as ReportedClient | undefined
  if (client?.backchannelLogoutUri === undefined) return true
  return client.backchannelLogout(String(userId), sid).then(
    () => true,
    () => false,
  )
}

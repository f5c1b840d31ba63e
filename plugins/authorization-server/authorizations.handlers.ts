import type { AuthorizationRef, ShownAuthorization } from '../../core/authorization-server/authorizations.ts'
import { makeDecideAuthorization, makeShowAuthorization } from '../../core/authorization-server/authorizations.ts'
import { makeAnswerDevice, makeShowDevice } from '../../core/authorization-server/devices.ts'
import { makeRotateKeys } from '../../core/authorization-server/keys.ts'
import {
  AccountReadsPort,
  ApiUrlPort,
  ApplicationStorePort,
  AuthorizationProtocolPort,
  AuthorizationServerUnitOfWorkPort,
  ConsentStorePort,
  KeyFactoryPort,
  KeyStorePort,
  ProtocolRootsPort,
  RecordStorePort,
  SignInStorePort,
  TeamDirectoryPort,
} from '../../core/authorization-server/ports.ts'
import { makePurgeRecords } from '../../core/authorization-server/records.ts'
import { makeReportSignOuts } from '../../core/authorization-server/sign-out-reports.ts'
import { AllowancesPort } from '../../core/identity/attempt-ports.ts'
import { TokenDigestPort } from '../../core/identity/ports.ts'
import { ClockPort, unixSeconds } from '../../core/kernel/clock.ts'
import type { Secret } from '../../core/kernel/secret.ts'
import { EntropyPort, SecretBoxPort } from '../../core/kernel/secret.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import { logoUrl } from './application-wire.ts'
import { answerDevice, decideAuthorization, showAuthorization, showDevice } from './authorizations.routes.ts'

const questionWire = (shown: ShownAuthorization) => ({
  application: shown.application.name,
  client_id: shown.application.clientId,
  owner: shown.ownerName ?? '',
  logo: logoUrl(shown.application.logo),
  is_trusted: shown.application.isTrusted,
  asks_for: [...shown.sentences],
  needs_consent: shown.needsConsent,
  must_sign_in_again: shown.mustSignInAgain,
})

const refOf = (
  { id = '', key = '' }: { readonly id?: string | undefined; readonly key?: string | undefined },
  cookie: Secret | undefined,
): AuthorizationRef => ({
  id,
  binding: key,
  browserKey: cookie,
})

/** What people answer applications, and programs on other devices. */
export const authorizationGroup = defineGroup({
  needs: {
    accounts: AccountReadsPort,
    allowances: AllowancesPort,
    apiUrl: ApiUrlPort,
    applications: ApplicationStorePort,
    clock: ClockPort,
    consents: ConsentStorePort,
    digest: TokenDigestPort,
    directory: TeamDirectoryPort,
    protocol: AuthorizationProtocolPort,
    unitOfWork: AuthorizationServerUnitOfWorkPort,
  },
  routes: (given) => [
    handle(showAuthorization, makeShowAuthorization(given), {
      input: ({ query, cookie }) => refOf(query, cookie),
      reply: questionWire,
    }),
    handle(decideAuthorization, makeDecideAuthorization(given), {
      input: ({ body, cookie }) => ({ ...refOf(body, cookie), isAccepted: body.is_accepted }),
      reply: (url) => ({ url }),
    }),
    handle(showDevice, makeShowDevice(given), {
      input: ({ body }) => body.user_code,
      reply: (shown) => ({
        ...questionWire(shown),
        source_ip: shown.device.sourceIp,
        user_agent: shown.device.userAgent,
        started_at: unixSeconds(shown.device.startedAt),
      }),
    }),
    handle(answerDevice, makeAnswerDevice(given), {
      input: ({ body }) => ({ userCode: body.user_code, isAccepted: body.is_accepted }),
    }),
  ],
})

/** The protocol below the issuer. */
export const protocolGroup = defineGroup({
  needs: { protocol: AuthorizationProtocolPort, roots: ProtocolRootsPort },
  mounts: ({ protocol, roots }) => [
    { id: 'authorizationServer.protocol', roots, handle: (exchange) => protocol.handle(exchange) },
  ],
})

const hourly = 3_600

/** What keeps the records and the keys in order. */
export const authorizationUpkeepGroup = defineGroup({
  needs: {
    clock: ClockPort,
    entropy: EntropyPort,
    protocol: AuthorizationProtocolPort,
    signIns: SignInStorePort,
    factory: KeyFactoryPort,
    keys: KeyStorePort,
    records: RecordStorePort,
    secretBox: SecretBoxPort,
    unitOfWork: AuthorizationServerUnitOfWorkPort,
  },
  jobs: (given) => {
    const purge = makePurgeRecords(given)
    const report = makeReportSignOuts(given)
    return [
      {
        id: 'authorizationServer.removeExpired',
        summary: 'Remove codes, tokens and sessions of applications that have expired',
        everySeconds: 300,
        run: async (signal) => void (await purge(signal)),
      },
      {
        id: 'authorizationServer.reportSignOuts',
        summary: 'Tell applications of the sessions that have ended',
        everySeconds: 10,
        run: async (signal) => void (await report(signal)),
      },
      {
        id: 'authorizationServer.rotateKeys',
        summary: 'Make the next signing key of the authorization server, and remove those that nothing needs',
        everySeconds: hourly,
        run: makeRotateKeys(given),
      },
    ]
  },
})

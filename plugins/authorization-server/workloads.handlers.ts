import type * as t from 'io-ts'
import { AuthorizationServerUnitOfWorkPort } from '../../core/authorization-server/ports.ts'
import { warningsOf } from '../../core/authorization-server/workloads/conditions.ts'
import {
  makeCreateFederatedCredential,
  makeListFederatedCredentials,
  makeRemoveFederatedCredential,
  makeReplaceFederatedCredential,
  makeShowFederatedCredential,
} from '../../core/authorization-server/workloads/credentials.ts'
import { makePurgeWorkloadUses } from '../../core/authorization-server/workloads/exchange.ts'
import { WorkloadStorePort } from '../../core/authorization-server/workloads/ports.ts'
import type {
  FederatedCredential,
  FederatedCredentialContent,
} from '../../core/authorization-server/workloads/types.ts'
import type { AccessGrant } from '../../core/kernel/access.ts'
import { ClockPort } from '../../core/kernel/clock.ts'
import type { UserId } from '../../core/kernel/ids.ts'
import { EntropyPort } from '../../core/kernel/secret.ts'
import { objectIdOf, orgOf } from '../kit/access.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import type { FederatedCredentialOption } from './workloads.routes.ts'
import {
  createFederatedCredential,
  getFederatedCredential,
  listFederatedCredentials,
  removeFederatedCredential,
  replaceFederatedCredential,
} from './workloads.routes.ts'

const hour = 3_600

const robotOf = (grant: AccessGrant) => ({ orgId: orgOf(grant), robotId: objectIdOf<UserId>(grant) })

const contentOf = ({
  name,
  issuer,
  cluster_uid,
  audience,
  conditions,
  scopes,
  life_seconds,
}: t.TypeOf<typeof FederatedCredentialOption>) =>
  ({
    name: name.trim(),
    issuer: issuer ?? '',
    clusterUid: cluster_uid ?? '',
    audience,
    conditions,
    scopes: [...new Set(scopes)],
    lifeSeconds: life_seconds ?? hour,
  }) satisfies FederatedCredentialContent

const toWire = (credential: FederatedCredential) => ({
  id: credential.id,
  name: credential.name,
  issuer: credential.issuer,
  cluster_uid: credential.clusterUid,
  audience: credential.audience,
  conditions: credential.conditions,
  scopes: credential.scopes,
  life_seconds: credential.lifeSeconds,
  created_at: credential.createdAt,
  last_used_at: credential.lastUsedAt,
  last_refused_at: credential.lastRefusedAt,
  last_refusal: credential.lastRefusal,
  warnings: warningsOf(credential.issuer, credential.conditions),
})

/** The issuers that robot accounts trust. */
export const workloadGroup = defineGroup({
  needs: {
    clock: ClockPort,
    entropy: EntropyPort,
    unitOfWork: AuthorizationServerUnitOfWorkPort,
    workloads: WorkloadStorePort,
  },
  routes: (given) => [
    handle(listFederatedCredentials, makeListFederatedCredentials(given), {
      input: ({ grant, page }) => ({ ...robotOf(grant), page }),
      reply: toWire,
    }),
    handle(createFederatedCredential, makeCreateFederatedCredential(given), {
      input: ({ grant, body }) => ({ ...robotOf(grant), content: contentOf(body) }),
      reply: toWire,
    }),
    handle(getFederatedCredential, makeShowFederatedCredential(given), {
      input: ({ grant, params }) => ({ ...robotOf(grant), id: params.id }),
      reply: toWire,
      version: ({ version }) => version,
    }),
    handle(replaceFederatedCredential, makeReplaceFederatedCredential(given), {
      input: ({ grant, params, body, expectedVersion }) => ({
        ...robotOf(grant),
        id: params.id,
        content: contentOf(body),
        expectedVersion,
      }),
      reply: toWire,
      version: ({ version }) => version,
    }),
    handle(removeFederatedCredential, makeRemoveFederatedCredential(given), {
      input: ({ grant, params }) => ({ ...robotOf(grant), id: params.id }),
    }),
  ],
  jobs: (given) => {
    const purge = makePurgeWorkloadUses(given)
    return [
      {
        id: 'authorizationServer.removeExchanged',
        summary: 'Remove tokens that workloads exchanged and that have expired',
        everySeconds: 300,
        run: async (signal) => void (await purge(signal)),
      },
    ]
  },
})

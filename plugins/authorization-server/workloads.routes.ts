import * as t from 'io-ts'
import {
  FederatedCredentialChanged,
  FederatedCredentialMissing,
  FederatedCredentialRefused,
} from '../../core/authorization-server/workloads/failures.ts'
import type { FederatedCredentialId } from '../../core/authorization-server/workloads/types.ts'
import { path, requires } from '../kit/access.ts'
import {
  answer,
  described,
  freeText,
  Instant,
  int32,
  listOf,
  optional,
  OrgPathName,
  pathId,
  pathName,
  request,
  SafeInteger,
} from '../kit/codecs.ts'
import { empty, json, list, versioned } from '../kit/reply.ts'
import { body, routesOf } from '../kit/route.ts'

const RobotName = described(pathName('robot_ac'), 'The name of the robot account within the organization.')
const RobotPath = request({ orgname: OrgPathName, robot: RobotName }, 'WorkloadRobotPath')
const CredentialPath = request(
  {
    orgname: OrgPathName,
    robot: RobotName,
    id: described(
      pathId<FederatedCredentialId>('federated credential of a robot_ac'),
      'The id of the federated credential, from 1.',
    ),
  },
  'FederatedCredentialPath',
)

const claimWords =
  'The name of a claim, or a JSON pointer to a member of one, such as `/kubernetes.io/serviceaccount/uid`.'
const valueWords = 'The value of the claim, or of one in its list; `*` stands for any characters.'

const FederatedCredential = answer(
  {
    id: described(SafeInteger, 'The id, from 1.'),
    name: described(t.string, 'The name, unique among those of the robot account.'),
    issuer: described(t.string, 'The issuer of the tokens; empty if a cluster reviews them.'),
    cluster_uid: described(t.string, 'The UID of the cluster that reviews the tokens; or empty.'),
    audience: described(t.string, 'The audience that a token must have.'),
    conditions: described(
      t.readonlyArray(
        answer({ claim: described(t.string, claimWords), value: described(t.string, valueWords) }, 'ClaimCondition'),
      ),
      'What the claims of a token must be; all of them must hold.',
    ),
    scopes: described(t.readonlyArray(t.string), 'The most that an issued token may do.'),
    life_seconds: described(SafeInteger, 'How long an issued token lives, in seconds.'),
    created_at: described(Instant, 'When it was created, RFC 3339 in UTC.'),
    last_used_at: described(optional(Instant), 'When a token was last exchanged; absent if none was.'),
    last_refused_at: described(
      optional(Instant),
      'When a token was last refused that names the issuer; absent if none was. Noted every ten seconds at most.',
    ),
    last_refusal: described(
      optional(t.string),
      'Why, in words. The token is not verified before its claims are compared: anyone can have sent it.',
    ),
    warnings: described(t.readonlyArray(t.string), 'What makes the conditions weak, in words; usually empty.'),
  },
  'FederatedCredential',
)

export const FederatedCredentialOption = request(
  {
    name: described(freeText(100), 'The name, unique among those of the robot account.'),
    issuer: described(
      optional(freeText(2_000)),
      'The address of the issuer as the claim `iss` has it, such as https://token.actions.githubusercontent.com. Leave it ' +
        'out for the service accounts of a cluster.',
    ),
    cluster_uid: described(
      optional(freeText(64)),
      'The UID of a connected cluster of the organization: it reviews the tokens of its service accounts.',
    ),
    audience: described(
      freeText(500),
      'The audience that a token must have: one that the issuer uses for this service.',
    ),
    conditions: described(
      listOf(
        request(
          { claim: described(freeText(200), claimWords), value: described(freeText(500), valueWords) },
          'ClaimConditionOption',
        ),
        20,
      ),
      'What the claims of a token must be; all of them must hold. At least one says which workload is meant: prefer ids ' +
        'that never change, such as `repository_id`.',
    ),
    scopes: described(listOf(freeText(64), 40), 'The most that an issued token may do, such as `write:cluster`.'),
    life_seconds: described(
      optional(int32(0)),
      'How long an issued token lives, in seconds: 60 to 3600, which is the default.',
    ),
  },
  'FederatedCredentialOption',
)

const example = {
  id: 3,
  name: 'release pipeline',
  issuer: 'https://token.actions.githubusercontent.com',
  cluster_uid: '',
  audience: 'https://platform.example',
  conditions: [
    { claim: 'repository_id', value: '702441' },
    { claim: 'ref', value: 'refs/heads/main' },
  ],
  scopes: ['write:cluster'],
  life_seconds: 900,
  created_at: '2026-11-28T08:00:00.000Z',
  warnings: [],
}
const sent = {
  name: 'release pipeline',
  issuer: 'https://token.actions.githubusercontent.com',
  audience: 'https://platform.example',
  conditions: [{ claim: 'repository_id', value: '702441' }],
  scopes: ['write:cluster'],
  life_seconds: 900,
}

const robotInPath = { type: 'robot_ac', account: path('orgname'), name: path('robot') } as const
const common = {
  tag: 'Identity - Organizations & Teams',
  scopeCategory: 'organization',
  access: requires('can_trust_issuers', robotInPath),
} as const
const route = routesOf({ ...common, params: RobotPath })
const credentialRoute = routesOf({ ...common, params: CredentialPath, failures: [FederatedCredentialMissing] })

const root = '/orgs/{orgname}/robots/{robot}/federated-credentials'

export const listFederatedCredentials = route({
  id: 'authorizationServer.listFederatedCredentials',
  method: 'GET',
  path: root,
  summary: 'List the issuers that a robot account trusts',
  description: 'By name, at most 20. A workload exchanges a token of such an issuer at `/oidc/token`.',
  ok: list(FederatedCredential, example),
})

export const createFederatedCredential = route({
  id: 'authorizationServer.createFederatedCredential',
  method: 'POST',
  path: root,
  summary: 'Make a robot account trust an issuer',
  description:
    'A workload with a token of the issuer that has the audience and the claims acts as the robot account, without a ' +
    'stored secret. Only owners decide this.',
  refusesSudo: true,
  body: body(FederatedCredentialOption, sent),
  ok: json(201, FederatedCredential, example, 'Created'),
  failures: [FederatedCredentialRefused, FederatedCredentialMissing],
})

export const getFederatedCredential = credentialRoute({
  id: 'authorizationServer.getFederatedCredential',
  method: 'GET',
  path: `${root}/{id}`,
  summary: 'Get an issuer that a robot account trusts',
  description: 'The `ETag` of the answer guards a later change.',
  ok: versioned(200, FederatedCredential, example),
})

export const replaceFederatedCredential = credentialRoute({
  id: 'authorizationServer.replaceFederatedCredential',
  method: 'PUT',
  path: `${root}/{id}`,
  summary: 'Replace an issuer that a robot account trusts',
  description: 'Counts from the next exchange. Tokens that were issued live on, at most an hour.',
  refusesSudo: true,
  body: body(FederatedCredentialOption, sent),
  ok: versioned(200, FederatedCredential, example),
  failures: [FederatedCredentialRefused, FederatedCredentialChanged],
})

export const removeFederatedCredential = credentialRoute({
  id: 'authorizationServer.removeFederatedCredential',
  method: 'DELETE',
  path: `${root}/{id}`,
  summary: 'Remove an issuer that a robot account trusts',
  description: 'Counts from the next exchange. Tokens that were issued live on, at most an hour.',
  refusesSudo: true,
  ok: empty(204),
})

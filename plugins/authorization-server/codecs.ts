import * as t from 'io-ts'
import type { ApplicationId } from '../../core/authorization-server/types.ts'
import { path } from '../kit/access.ts'
import {
  answer,
  Base64Bytes,
  described,
  freeText,
  givenText,
  optional,
  OrgPathName,
  pathId,
  patternText,
  plainValue,
  request,
  SafeInteger,
  textLines,
} from '../kit/codecs.ts'

/** The cookie that binds the question of an application to the browser that was sent here. */
export const authorizationCookie = 'moorage_question'

export const organizationInPath = { type: 'organization', name: path('orgname') } as const

const pathIdOf = (object: string) => described(pathId<ApplicationId>(object), 'The id of the application, from 1.')
export const OwnApplicationPath = request({ id: pathIdOf('application') }, 'OwnApplicationPath')
/** Anyone may withdraw what they have not allowed, so the id says nothing about the owner of the application. */
export const AnyApplicationPath = request({ id: pathIdOf('any application') }, 'AnyApplicationPath')
export const OrgApplicationsPath = request({ orgname: OrgPathName }, 'OrgApplicationsPath')
export const OrgApplicationPath = request(
  { orgname: OrgPathName, id: pathIdOf('application of an organization') },
  'OrgApplicationPath',
)
export const SiteApplicationPath = request({ id: pathIdOf('application of the site') }, 'SiteApplicationPath')

export const OAuth2ApplicationParams = request(
  {
    name: described(optional(freeText(100)), 'The name that people are shown. Required for a new application.'),
    redirectUri: described(
      optional(textLines(41_000)),
      'Where browsers are sent with the answer, one address for each line: https, or http on the machine of the user. ' +
        'They are compared exactly; the port of a loopback address of a public application is free.',
    ),
    postLogoutRedirectUri: described(
      optional(textLines(41_000)),
      'Where browsers may be sent after a sign-out, one address for each line.',
    ),
    backChannelLogoutUri: described(
      optional(freeText(2_000)),
      'Where the end of a session is reported (OpenID Connect Back-Channel Logout); empty for nowhere.',
    ),
    isPublic: described(
      optional(t.union([t.boolean, t.literal('true'), t.literal('false')])),
      'Whether it runs on machines of its users and keeps no secret, as a command line does. It cannot be changed.',
    ),
    robotId: described(
      optional(t.union([SafeInteger, patternText(/^[0-9]{1,15}$/, 15, 'decimal digits')])),
      'The id of a robot account of the organization, as which the application acts for itself (client credentials); 0 ' +
        'for none. Applications of users and of the site have none.',
    ),
    logo: described(
      optional(t.union([Base64Bytes, t.literal('')])),
      'A picture, at most 3 MiB. An empty one removes it.',
    ),
  },
  'OAuth2ApplicationParams',
)

export const OAuth2Application = answer(
  {
    id: described(SafeInteger, 'The id.'),
    uid: described(SafeInteger, 'The id of the user that owns it; 0 if an organization or the site does.'),
    orgId: described(SafeInteger, 'The id of the organization that owns it, to which its tokens are confined; or 0.'),
    name: described(t.string, 'The name that people are shown.'),
    clientId: described(t.string, 'The client id of the protocol.'),
    clientSecret: described(t.string, 'The client secret. Only in the answer that makes it; otherwise empty.'),
    clientSecretHash: described(t.string, 'Always empty: the digest of a secret is not shown.'),
    redirectURIs: described(t.array(t.string), 'Where browsers are sent with the answer.'),
    postLogoutRedirectURIs: described(t.array(t.string), 'Where browsers may be sent after a sign-out.'),
    backChannelLogoutURI: described(t.string, 'Where the end of a session is reported; empty for nowhere.'),
    isPublic: described(t.boolean, 'Whether it keeps no secret.'),
    isTrusted: described(t.boolean, 'Whether a site admin vouches for it: people are not asked for consent.'),
    robotId: described(SafeInteger, 'The id of the robot account as which it acts for itself; 0 if it does not.'),
    logo: described(t.string, 'The picture as a data URL; empty if there is none.'),
    createdAt: described(SafeInteger, 'When it was registered, in seconds since the epoch.'),
    updatedAt: described(SafeInteger, 'When it was changed, in seconds since the epoch.'),
  },
  'OAuth2Application',
)

export const OAuth2Grant = answer(
  {
    id: described(SafeInteger, 'The id.'),
    userId: described(SafeInteger, 'The id of the user who allowed it.'),
    applicationId: described(SafeInteger, 'The id of the application.'),
    applicationName: described(t.string, 'The name of the application.'),
    scopes: described(t.array(t.string), 'What was allowed.'),
    logo: described(t.string, 'The picture of the application as a data URL; empty if there is none.'),
    counter: described(SafeInteger, 'How often the user was led to the application.'),
    createdAt: described(SafeInteger, 'When it was allowed first, in seconds since the epoch.'),
    updatedAt: described(SafeInteger, 'When it was allowed last, in seconds since the epoch.'),
  },
  'OAuth2Grant',
)

export const TrustOption = request(
  { isTrusted: described(t.boolean, 'Whether people use it without being asked.') },
  'TrustOption',
)

const QuestionId = described(plainValue(givenText(64)), 'The id in the address of the page.')
const QuestionKey = described(plainValue(givenText(64)), 'The key in the address of the page.')
export const AuthorizationQuery = request(
  { id: optional(QuestionId), key: optional(QuestionKey) },
  'AuthorizationQuery',
)

export const AuthorizationAnswer = request(
  {
    id: QuestionId,
    key: QuestionKey,
    is_accepted: described(t.boolean, 'Whether the application may do what it asks.'),
  },
  'AuthorizationAnswer',
)

const questionFields = {
  application: described(t.string, 'The name of the application.'),
  client_id: described(t.string, 'The client id.'),
  owner: described(t.string, 'The account that registered it; empty for the site.'),
  logo: described(t.string, 'The picture as a data URL; empty if there is none.'),
  is_trusted: described(t.boolean, 'Whether a site admin vouches for it.'),
  asks_for: described(t.array(t.string), 'What it asks for, in words.'),
  needs_consent: described(t.boolean, 'Whether the person must be asked. False: it was allowed before.'),
  must_sign_in_again: described(t.boolean, 'Whether the application demands a newer sign-in.'),
}

export const AuthorizationQuestion = answer(questionFields, 'AuthorizationQuestion')

export const Continuation = answer({ url: described(t.string, 'Where the browser continues.') }, 'Continuation')

const UserCode = described(plainValue(givenText(64)), 'The code that the device shows; case and hyphens do not matter.')
export const DeviceCodeOption = request({ user_code: UserCode }, 'DeviceCodeOption')
export const DeviceAnswer = request(
  { user_code: UserCode, is_accepted: described(t.boolean, 'Whether the program may do what it asks.') },
  'DeviceAnswer',
)
export const DeviceQuestion = answer(
  {
    ...questionFields,
    source_ip: described(t.string, 'The network address from which the program asks.'),
    user_agent: described(t.string, 'The program as it names itself; this is not verified.'),
    started_at: described(SafeInteger, 'When it asked, in seconds since the epoch.'),
  },
  'DeviceQuestion',
)

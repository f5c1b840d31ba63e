import * as t from 'io-ts'
import { userVisibilities } from '../../core/identity/types.ts'
import { PasskeyAssertion } from './passkeys/codecs.ts'
import {
  answer,
  described,
  freeText,
  givenText,
  Instant,
  listOf,
  noted,
  oneOf,
  optional,
  pathName,
  request,
  SafeInteger,
} from '../kit/codecs.ts'

/** The instant that older clients read as 'never'. */
const never = '0001-01-01T00:00:00Z'

/** An RFC 3339 instant in an answer. Undefined is encoded as `never`. */
const InstantOrNever = noted(
  new t.Type<Date | undefined, string, unknown>(
    'an RFC 3339 date-time',
    (u): u is Date | undefined => u === undefined || Instant.is(u),
    (u, c) => (u === never ? t.success(undefined) : Instant.validate(u, c)),
    (at) => (at === undefined ? never : Instant.encode(at)),
  ),
  { type: 'string', format: 'date-time' },
)

const EmailText = noted(t.string, { type: 'string', format: 'email' })
export const [firstVisibility, ...otherVisibilities] = userVisibilities
export const UserVisibilityWord = oneOf(firstVisibility, ...otherVisibilities)

/** A user as visible to everyone. Fields that the viewer may not see have their zero value. */
export const User = answer(
  {
    id: described(SafeInteger, 'The id of the user, from 1; it never changes and is never used again.'),
    login: described(t.string, 'The name of the user, unique without regard to case.'),
    username: described(t.string, 'The same as `login`.'),
    full_name: described(t.string, 'The display name; empty if the user gave none.'),
    // Empty when the viewer may not see it, and for accounts without an address.
    email: described(
      t.string,
      'The primary address for the user, site admins and, unless the user hides it, signed-in callers; else a ' +
        'placeholder that receives no mail.',
    ),
    avatar_url: described(t.string, 'The URL of the picture, which needs no credential.'),
    html_url: described(t.string, 'The URL of the user below the address of the service.'),
    language: described(
      t.string,
      'The language tag, such as en-US; empty if not set, and for callers other than the user and site admins.',
    ),
    is_admin: described(
      t.boolean,
      'Whether the user is a site admin; always false for callers other than the user and site admins.',
    ),
    last_login: described(
      InstantOrNever,
      'The last sign-in, RFC 3339; 0001-01-01T00:00:00Z for never, and for callers other than the user and site ' +
        'admins.',
    ),
    created: described(Instant, 'The creation of the account, RFC 3339 in UTC.'),
    type: described(SafeInteger, 'Always 0: the account of a person.'),
    active: described(
      t.boolean,
      'Whether the account is active; always false for callers other than the user and site admins.',
    ),
    prohibit_login: described(
      t.boolean,
      'Whether an administrator prohibited sign-in; always false for callers other than the user and site admins.',
    ),
    restricted: described(
      t.boolean,
      'Whether an administrator marked the account as restricted; always false for callers other than the user ' +
        'and site admins.',
    ),
    location: described(t.string, 'The place that the user gave; empty if none.'),
    website: described(t.string, 'The http or https URL that the user gave; empty if none.'),
    description: described(t.string, 'The text about the user; empty if none.'),
    visibility: described(
      t.string,
      'Who may see the user: `public` everyone, `limited` signed-in users, `private` the user and site admins.',
    ),
    login_name: described(t.string, 'The same as `login` for the user and site admins, else empty.'),
    source_id: described(SafeInteger, 'Always 0: all accounts are local.'),
    followers_count: described(SafeInteger, 'The number of users who follow the user.'),
    following_count: described(SafeInteger, 'The number of users whom the user follows.'),
    starred_repos_count: described(SafeInteger, 'Always 0: this service does not store repositories.'),
    orgAdmin: described(t.boolean, 'Always false; kept for older clients.'),
    orgType: described(SafeInteger, 'Always 0 for a user.'),
    clientOrgUser: described(
      t.boolean,
      'Whether the user is a member of a client organization; false unless the request has ' +
        '`check_client_org=true`.',
    ),
  },
  'User',
)
export type UserBody = t.TypeOf<typeof User>

export const userExample = {
  id: 7,
  login: 'ada',
  username: 'ada',
  full_name: 'Ada Lovelace',
  email: 'ada@noreply.platform.example',
  avatar_url: 'https://platform.example/api/v1/avatars/drawn/ada',
  html_url: 'https://platform.example/ada',
  language: '',
  is_admin: false,
  last_login: '0001-01-01T00:00:00Z',
  created: '2026-11-21T08:00:00.000Z',
  type: 0,
  active: false,
  prohibit_login: false,
  restricted: false,
  location: 'London',
  website: '',
  description: '',
  visibility: 'public',
  login_name: '',
  source_id: 0,
  followers_count: 2,
  following_count: 1,
  starred_repos_count: 0,
  orgAdmin: false,
  orgType: 0,
  clientOrgUser: false,
}

export const UserPath = request(
  {
    username: described(
      pathName('user'),
      'The name of the user, without regard to case; digits may be an id where the route says so.',
    ),
  },
  'UserPath',
)

export const UserSearchResult = answer(
  {
    ok: described(t.boolean, 'Always true.'),
    data: described(t.array(User), 'The users of the page.'),
  },
  'UserSearchResult',
)

export const SignInParams = request(
  {
    username: described(freeText(), 'The name of the user, or a confirmed e-mail address of the account.'),
    password: described(givenText(), 'The password of the account.'),
    remember: described(
      optional(t.boolean),
      'Whether a second cookie opens a new session after the end of this one; false by default, and without ' +
        'effect if the operator switched this off.',
    ),
  },
  'SignInParams',
)

export const SignInTwoFactorParams = request(
  {
    username: described(freeText(), 'The name of the user, or a confirmed e-mail address of the account.'),
    password: described(givenText(), 'The password of the account.'),
    passCode: described(
      optional(freeText(64)),
      'The current code of the authenticator app, or a recovery code; needed only by an account with a second factor.',
    ),
    passkey: described(
      optional(PasskeyAssertion),
      'The response of a passkey of the account in place of `passCode`, for a challenge of ' +
        '`POST /user/signin/passkey/request`.',
    ),
    remember: described(
      optional(t.boolean),
      'Whether a second cookie opens a new session after the end of this one; false by default, and without ' +
        'effect if the operator switched this off.',
    ),
  },
  'SignInTwoFactorParams',
)

export const SessionInfoAPIForm = answer(
  {
    id: described(SafeInteger, 'The id of the session, from 1.'),
    isActiveSession: described(t.boolean, 'Whether the request was made with this session.'),
    lastAccessedZonedTime: described(t.string, 'The last use of the session, RFC 3339 in UTC.'),
    lastAccessed: described(SafeInteger, 'The last use of the session, in seconds since the epoch.'),
    createdAt: described(SafeInteger, 'The sign-in, in seconds since the epoch.'),
    expiresAt: described(
      SafeInteger,
      'The end of the session, or of its remembered login, in seconds since the epoch.',
    ),
    remember: described(t.boolean, 'Whether the session has a remembered login.'),
    ip: described(t.string, 'The network address from which the session was opened.'),
    user_agent: described(
      t.string,
      'The `User-Agent` of the client that opened the session, at most 255 characters; empty if it sent none.',
    ),
  },
  'SessionInfoAPIForm',
)

const emailFields = {
  email: described(EmailText, 'The e-mail address. An internationalized domain is in ASCII.'),
  display_email: described(t.string, 'The address for people to read: an internationalized domain is in Unicode.'),
  verified: described(t.boolean, 'Whether the address was confirmed.'),
  primary: described(t.boolean, 'Whether it is the primary address of the user, to which mail is sent.'),
  user_id: described(SafeInteger, 'The id of the user to whom the address belongs.'),
  username: described(t.string, 'The name of the user to whom the address belongs.'),
}
export const Email = answer(emailFields, 'Email')
/** Longer texts decode too, so that the rule can report what is wrong with them. */
const EmailList = listOf(freeText(320), 20, 1)
export const CreateEmailOption = request(
  {
    emails: described(EmailList, 'The addresses to add, 1 to 20; an account has at most ten.'),
  },
  'CreateEmailOption',
)
export const DeleteEmailOption = request(
  {
    emails: described(
      EmailList,
      'The addresses to remove, 1 to 20; each must belong to the caller and not be the primary one.',
    ),
  },
  'DeleteEmailOption',
)

export const Profile = answer(
  {
    name: described(t.string, 'The name of the user.'),
    full_name: described(t.string, 'The display name; empty if not set.'),
    email: described(t.string, 'The primary address; a placeholder, or empty, if the caller may not see it.'),
    keep_email_private: described(t.boolean, 'Whether other users see a placeholder instead of the primary address.'),
    website: described(t.string, 'An http or https URL; empty if not set.'),
    location: described(t.string, 'A place; empty if not set.'),
    language: described(t.string, 'The language tag, such as en-US; empty if not set.'),
    description: described(t.string, 'The text about the user; empty if not set.'),
  },
  'Profile',
)
export const TwoFAStatus = answer(
  {
    twoFAEnrolled: described(t.boolean, 'Whether the caller has a second factor.'),
  },
  'TwoFAStatus',
)
export const Security = answer(
  {
    twoFASecret: described(t.string, 'The secret for an authenticator app, in base32.'),
    twoFAImageURL: described(t.string, 'A QR code with the secret, a PNG as a `data:` URL.'),
  },
  'Security',
)
export const TwoFactorAuthParams = request(
  {
    passCode: described(freeText(255), 'The first code of the authenticator app, six digits.'),
  },
  'TwoFactorAuthParams',
)
/** Proves that the caller is the owner of the account, for requests without HTTP Basic. */
const proofFields = {
  password: described(optional(givenText()), 'The password of the caller; not needed if the request has HTTP Basic.'),
  passCode: described(
    optional(freeText(255)),
    'A one-time code or a recovery code; not needed if the request has HTTP Basic with `X-OTP`.',
  ),
  passkey: described(
    optional(PasskeyAssertion),
    'The response of a passkey in place of both, for a challenge of ' +
      '`POST /user/settings/security/webauthn/request_proof`.',
  ),
}
export const SecondFactorProof = request(proofFields, 'SecondFactorProof')
export const WebauthnRegistrationOptions = request(
  {
    name: described(freeText(100), 'A name by which the user recognizes the passkey, 1 to 100 characters.'),
    ...proofFields,
  },
  'WebauthnRegistrationOptions',
)
export const PasskeyNameOption = request(
  { name: described(freeText(100), 'A name by which the user recognizes the passkey, 1 to 100 characters.') },
  'PasskeyNameOption',
)
export const RecoveryCodesText = noted(t.string, { type: 'string', description: 'Recovery codes, one per line.' })

/** The code from a mail. Longer texts decode too; they are wrong codes. */
const LinkCodeText = freeText(255)
export const ActivateParams = request(
  {
    code: described(LinkCodeText, 'The code of the mail, at most 255 characters.'),
  },
  'ActivateParams',
)
export const ForgotPasswordParams = request(
  {
    email: described(freeText(320), 'A confirmed e-mail address of the account.'),
  },
  'ForgotPasswordParams',
)
export const ResetPasswordParams = request(
  {
    code: described(LinkCodeText, 'The code of the mail, at most 255 characters.'),
    password: described(
      freeText(),
      'The new password, at most 256 characters, of at least the length that the operator set.',
    ),
  },
  'ResetPasswordParams',
)

export const AccountEmail = answer(
  { id: described(SafeInteger, 'The id of the address, from 1.'), ...emailFields },
  'AccountEmail',
)
export const AddEmailParams = request(
  {
    email: described(
      optional(freeText(320)),
      'The address to add, at most 320 characters; needed unless the query has `_method`.',
    ),
  },
  'AddEmailParams',
)

/** A user as visible to site admins and to the user. */
export const fullUserExample = {
  ...userExample,
  email: 'ada@example.org',
  active: true,
  login_name: 'ada',
  language: 'en-US',
}

export const emailExample = {
  email: 'ada@xn--bcher-kva.example',
  display_email: 'ada@bücher.example',
  verified: true,
  primary: true,
  user_id: 7,
  username: 'ada',
}

export const profileExample = {
  name: 'ada',
  full_name: 'Ada Lovelace',
  email: 'ada@example.org',
  keep_email_private: true,
  website: '',
  location: 'London',
  language: 'en-US',
  description: '',
}

import type { User } from '../../../core/identity/types.ts'
import * as t from 'io-ts'
import {
  answer,
  described,
  freeText,
  givenText,
  oneOf,
  optional,
  request,
  SafeInteger,
  textLines,
} from '../../kit/codecs.ts'
import { firstVisibility, otherVisibilities } from '../codecs.ts'

/** In a change, empty means unchanged. */
const RequestedVisibility = oneOf('', firstVisibility, ...otherVisibilities)

export const Validation = answer(
  {
    Status: described(
      oneOf('VALID', 'USER_EXISTS', 'RESERVED', 'INVALID', 'NOT_ALLOWED'),
      '`VALID` if it can be used; else why not: in use (`USER_EXISTS`), a reserved word, not well formed, or of ' +
        'a domain that is not allowed (`NOT_ALLOWED`).',
    ),
    message: described(t.string, 'Why it cannot be used, for people; empty for `VALID`.'),
  },
  'Validation',
)

const profileFields = {
  full_name: described(
    optional(freeText(100)),
    'The display name, at most 100 characters; absent: unchanged, empty: cleared.',
  ),
  website: described(
    optional(freeText(255)),
    'An http or https URL of at most 255 characters; absent: unchanged, empty: cleared.',
  ),
  location: described(optional(freeText(50)), 'A place, at most 50 characters; absent: unchanged, empty: cleared.'),
  language: described(
    optional(freeText(16)),
    'A language tag such as en-US, at most 16 characters; absent: unchanged, empty: cleared.',
  ),
  description: described(
    optional(textLines(255)),
    'A text about the user, at most 255 characters, with line breaks; absent: unchanged, empty: cleared.',
  ),
}

export const UserSettings = answer(
  {
    full_name: described(t.string, 'The display name; empty if not set.'),
    website: described(t.string, 'An http or https URL; empty if not set.'),
    description: described(t.string, 'The text about the user; empty if not set.'),
    location: described(t.string, 'A place; empty if not set.'),
    language: described(t.string, 'The language tag, such as en-US; empty if not set.'),
    theme: described(t.string, 'The theme of a user interface, without meaning for this service; empty if not set.'),
    diff_view_style: described(
      t.string,
      'How a user interface shows differences, without meaning for this service; empty if not set.',
    ),
    hide_email: described(t.boolean, 'Whether other users see a placeholder instead of the primary address.'),
    hide_activity: described(t.boolean, 'A preference of user interfaces, without effect on this service.'),
  },
  'UserSettings',
)
export const settingsExample = {
  full_name: 'Ada Lovelace',
  website: '',
  description: '',
  location: 'London',
  language: 'en-US',
  theme: 'dark',
  diff_view_style: 'split',
  hide_email: true,
  hide_activity: false,
}

export const settingsWire = (user: User) => ({
  full_name: user.fullName,
  website: user.website,
  description: user.description,
  location: user.location,
  language: user.language,
  theme: user.theme,
  diff_view_style: user.diffViewStyle,
  hide_email: user.hideEmail,
  hide_activity: user.hideActivity,
})

export const UserSettingsOptions = request(
  {
    ...profileFields,
    theme: described(
      optional(freeText(64)),
      'The theme of a user interface, at most 64 characters, stored only; absent: unchanged.',
    ),
    diff_view_style: described(
      optional(freeText(64)),
      'How a user interface shows differences, at most 64 characters, stored only; absent: unchanged.',
    ),
    hide_email: described(
      optional(t.boolean),
      'Whether other users see a placeholder instead of the primary address; absent: unchanged.',
    ),
    hide_activity: described(optional(t.boolean), 'A preference of user interfaces, stored only; absent: unchanged.'),
  },
  'UserSettingsOptions',
)
export const ProfileParams = request(
  {
    ...profileFields,
    name: described(optional(freeText(40)), 'The present name, which this route cannot change; absent by default.'),
    email: described(
      optional(freeText(320)),
      'The new primary address, at most 320 characters; absent or empty: unchanged.',
    ),
    keep_email_private: described(
      optional(t.boolean),
      'Whether other users see a placeholder instead of the primary address; absent: unchanged.',
    ),
  },
  'ProfileParams',
)

export const UpdatePasswordParams = request(
  {
    old_password: described(givenText(), 'The present password.'),
    password: described(
      freeText(),
      'The new password, at most 256 characters, of at least the length that the operator set.',
    ),
    retype: described(optional(freeText()), 'The new password again; if present, it must be equal to `password`.'),
    revoke_tokens: described(
      optional(t.boolean),
      'Whether the access tokens of the caller are removed too; false by default.',
    ),
  },
  'UpdatePasswordParams',
)
export const DeleteAccountParams = request(
  {
    password: described(optional(givenText()), 'The password of the caller; not needed if the request has HTTP Basic.'),
    passCode: described(
      optional(freeText(255)),
      'A one-time code or a recovery code; needed only by an account with a second factor, unless `X-OTP` has one.',
    ),
  },
  'DeleteAccountParams',
)
export const Pagination = answer(
  {
    productUI: described(SafeInteger, 'Rows per page in the interface of products, 1 to 1,000; 10 by default.'),
    consoleUI: described(SafeInteger, 'Rows per page in the console, 1 to 1,000; 10 by default.'),
    platformUI: described(SafeInteger, 'Rows per page in the interface of the platform, 1 to 1,000; 10 by default.'),
  },
  'Pagination',
)
export const PaginationParams = request(
  {
    productUI: described(
      optional(SafeInteger),
      'Rows per page in the interface of products, 1 to 1,000; absent: unchanged.',
    ),
    consoleUI: described(optional(SafeInteger), 'Rows per page in the console, 1 to 1,000; absent: unchanged.'),
    platformUI: described(
      optional(SafeInteger),
      'Rows per page in the interface of the platform, 1 to 1,000; absent: unchanged.',
    ),
  },
  'PaginationParams',
)

export const ChangePasswordParams = request(
  {
    password: described(
      freeText(),
      'The new password, at most 256 characters, of at least the length that the operator set.',
    ),
    retype: described(optional(freeText()), 'The new password again; if present, it must be equal to `password`.'),
  },
  'ChangePasswordParams',
)

export const CreateUserOption = request(
  {
    username: described(
      freeText(255),
      'The name of the new user, unique among users and organizations without regard to case.',
    ),
    email: described(freeText(320), 'The primary address of the new user, unique among all accounts.'),
    password: described(
      freeText(),
      'The password, at most 256 characters, of at least the length that the operator set.',
    ),
    full_name: described(optional(freeText(100)), 'The display name, at most 100 characters; empty by default.'),
    must_change_password: described(
      optional(t.boolean),
      'Whether the user must replace the password before any other request; false by default.',
    ),
    restricted: described(
      optional(t.boolean),
      'Marks the account as restricted, which only lists and filters show; false by default.',
    ),
    visibility: described(
      optional(RequestedVisibility),
      'Who may see the user: `public` everyone, `limited` signed-in users, `private` the user and site admins; ' +
        '`public` if absent or empty.',
    ),
    send_notify: described(
      optional(t.boolean),
      'Whether the user is notified of the account by mail, without the password; false by default.',
    ),
    created_at: described(
      optional(t.string),
      'The creation of a migrated account, an RFC 3339 time since 1970 and not in the future; now by default.',
    ),
  },
  'CreateUserOption',
)

export const EditUserOption = request(
  {
    ...profileFields,
    email: described(
      optional(freeText(320)),
      'The new primary address, which counts as verified; absent or empty: unchanged.',
    ),
    password: described(optional(freeText()), 'The new password, at most 256 characters; absent or empty: unchanged.'),
    must_change_password: described(
      optional(t.boolean),
      'Whether the user must replace the password before any other request; absent: unchanged.',
    ),
    active: described(optional(t.boolean), 'Whether the account is active; absent: unchanged.'),
    admin: described(optional(t.boolean), 'Whether the user is a site admin; absent: unchanged.'),
    prohibit_login: described(optional(t.boolean), 'Whether the user may not sign in; absent: unchanged.'),
    allow_create_organization: described(
      optional(t.boolean),
      'Whether the user may create organizations; absent: unchanged.',
    ),
    restricted: described(
      optional(t.boolean),
      'Marks the account as restricted, which only lists and filters show; absent: unchanged.',
    ),
    visibility: described(
      optional(RequestedVisibility),
      'Who may see the user: `public` everyone, `limited` signed-in users, `private` the user and site admins; ' +
        'absent or empty: unchanged.',
    ),
  },
  'EditUserOption',
)

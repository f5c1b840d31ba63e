import * as t from 'io-ts'
import type { ProfileInput } from '../../../core/organizations/organization-rules.ts'
import { profileLimits } from '../../../core/organizations/organization-rules.ts'
import type { OrganizationProfile } from '../../../core/organizations/types.ts'
import { freeText, oneOf, textLines } from '../../kit/codecs.ts'
import { field, fieldsOf } from '../../kit/fields.ts'

/** What an editor of an organization decides about it, each field once: docs/fields.md says what follows from it. */
export const organizationFields = fieldsOf<OrganizationProfile, ProfileInput>()({
  fullName: field({
    wire: 'full_name',
    sent: freeText(profileLimits.fullName),
    sentWords:
      'The display name, at most 100 characters; absent: empty for a new organization, else unchanged; empty: cleared.',
    shown: t.string,
    shownWords: 'The display name; empty if not set.',
    example: 'Analytical Engines Ltd',
  }),
  email: field({
    wire: 'email',
    sent: freeText(profileLimits.email),
    sentWords:
      'The contact address, at most 254 characters; absent or empty: none for a new organization, else unchanged.',
    shown: t.string,
    shownWords: 'The contact address; empty if not set, and for callers who are not signed in.',
    example: 'office@analytical.example',
  }),
  description: field({
    wire: 'description',
    sent: textLines(profileLimits.description),
    sentWords:
      'A text of at most 255 characters, with line breaks; absent: empty for a new organization, else unchanged; ' +
      'empty: cleared.',
    shown: t.string,
    shownWords: 'The text about the organization; empty if not set.',
    example: 'We compute by steam',
  }),
  website: field({
    wire: 'website',
    sent: freeText(profileLimits.website),
    sentWords:
      'An http or https URL of at most 255 characters; absent: empty for a new organization, else unchanged; ' +
      'empty: cleared.',
    shown: t.string,
    shownWords: 'An http or https URL; empty if not set.',
    example: 'https://analytical.example',
  }),
  location: field({
    wire: 'location',
    sent: freeText(profileLimits.location),
    sentWords: 'A place, at most 50 characters; absent: empty for a new organization, else unchanged; empty: cleared.',
    shown: t.string,
    shownWords: 'A place; empty if not set.',
    example: 'London',
  }),
  fleetEndpoint: field({
    wire: 'fleetManagementClusterEndPoint',
    sent: freeText(profileLimits.fleetEndpoint),
    sentWords:
      'The http or https URL of the cluster-fleet manager, at most 255 characters; absent: empty for a new ' +
      'organization, else unchanged; empty: cleared.',
    shown: t.string,
    shownWords: 'The http or https URL of the cluster-fleet manager; empty if not set.',
    example: '',
  }),
  visibility: field({
    wire: 'visibility',
    sent: oneOf('', 'public', 'limited', 'private'),
    sentWords:
      'Who may see the organization: `public` everyone, `limited` signed-in users, `private` members; absent or ' +
      'empty: public for a new organization, else unchanged.',
    shown: t.string,
    shownWords:
      'Who may see the organization: `public` everyone, `limited` signed-in users, `private` members and site admins.',
    example: 'private',
  }),
})

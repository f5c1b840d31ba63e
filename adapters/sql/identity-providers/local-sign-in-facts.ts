import { computed, flag } from '../kit/columns.ts'

const fact = (condition: string) => computed(flag(), `case when ${condition} then 1 else 0 end`)

/** The links of the user `u` to active or inactive providers. */
const links = 'from external_accounts as e join identity_providers as ip on ip.id = e.provider_id'

/** The facts that decide whether the user `u` may sign in with what this service keeps. */
export const localSignInFacts = {
  isSiteOff: fact('exists (select 1 from local_sign_in_offs as lo where lo.owner_key = 0)'),
  isOrganizationOff: fact(
    `exists (select 1 ${links} join local_sign_in_offs as lo on lo.owner_key = ip.owner_key ` +
      'join org_members as om on om.org_id = ip.org_id and om.user_id = e.user_id where e.user_id = u.id)',
  ),
  isEnded: fact(`exists (select 1 ${links} where e.user_id = u.id and e.is_created = 1 and e.ended_at is not null)`),
  isSiteAdmin: fact('u.is_admin = 1'),
  hasSiteLink: fact(`exists (select 1 ${links} where e.user_id = u.id and ip.owner_key = 0 and ip.is_active = 1)`),
  // It is asked of site admins alone: others need no scan.
  hasOtherAdmin: fact(
    'u.is_admin = 1 and exists (select 1 from users as oa where oa.is_admin = 1 and oa.is_active = 1 ' +
      'and oa.prohibit_login = 0 and oa.id <> u.id)',
  ),
}

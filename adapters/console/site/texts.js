import { billingTexts } from './texts/billing.js'
import { clustersTexts } from './texts/clusters.js'
import { hubsTexts } from './texts/hubs.js'
import { organizationTexts } from './texts/organization.js'
import { packagesTexts } from './texts/packages.js'
import { siteTexts } from './texts/site.js'
import { vendorTexts } from './texts/vendor.js'

/**
 * Returns a text with its values in place of `{name}`.
 *
 * @param {string} text
 * @param {Record<string, string | number>} values
 */
export const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => isolated(String(values[name] ?? '')))

/** Keeps marks of direction in a name from turning the text around it. @param {string} value */
const isolated = (value) => (/[\u202a-\u202e\u2066-\u2069]/.test(value) ? `\u2068${value}\u2069` : value)

/** All texts of the console, those of screens by the folder of the screen. Another language is another set of these files. */
export const texts = {
  common: {
    close: 'Close',
    cancel: 'Cancel',
    retry: 'Try again',
    loading: 'Loading…',
    working: 'Working…',
    save: 'Save',
    remove: 'Remove',
    edit: 'Edit',
    yes: 'Yes',
    no: 'No',
    none: 'None',
    actions: 'Actions',
    copy: 'Copy',
    copied: 'Copied',
    notAllowed: 'You may not {action}. An owner of the organization can give you the right.',
  },
  client: {
    noMessage: 'The service answered {status}.',
    noAnswer: 'The service could not be reached.',
    noAnswerToChange:
      'The service could not be reached, so it is not known whether the change was made. Send it again: it is made once.',
  },
  problem: {
    forbidden: 'You may not see this.',
    missing: 'This does not exist.',
    failed: 'This did not work.',
    request: 'Request {id}',
  },
  format: { now: 'now', never: 'never' },
  form: {
    optional: '(optional)',
    leave: 'What you typed is not saved. Leave this page?',
    conflict: 'It was changed by another request after you opened it.',
    field: 'Field',
    theirs: 'Saved version',
    mine: 'Your version',
    takeTheirs: 'Take the saved version',
    keepMine: 'Keep mine, to save it over that',
  },
  dialog: {
    lost: 'This cannot be undone. What is lost:',
    typeName: 'Type {name} to confirm',
  },
  list: {
    search: 'Search',
    pages: 'Pages',
    previous: 'Previous',
    next: 'Next',
    count: '{total} entries',
    one: '1 entry',
    range: '{from}–{to} of {total}',
    noMatch: 'No entry matches.',
  },
  shell: {
    product: 'Moorage',
    navigation: 'Navigation',
    account: 'Account',
    groups: { home: '', work: '', organization: 'Organization', billing: 'Billing', vendor: 'Vendor', site: 'Site' },
    docs: 'API',
    yourAccount: 'Your account',
    signedInAs: 'Signed in as {login}',
    signOut: 'Sign out',
    skip: 'Skip to the content',
    offline: 'The service cannot be reached. What you typed is kept.',
    sessionEnded: 'Your session has ended',
    sessionEndedHint: 'Sign in again in another tab. Nothing that you typed here is lost.',
    signInAgain: 'Sign in',
    signedInAgain: 'I have signed in',
    noView: 'Page not found',
    noViewHint: 'The console has no page at this address.',
    toHome: 'Go to the home page',
    crumbs: 'Where you are',
    sections: 'Sections',
  },
  tasks: {
    states: {
      queued: 'Waiting',
      running: 'Running',
      succeeded: 'Succeeded',
      failed: 'Failed',
      cancelled: 'Cancelled',
      unknown: 'Unknown',
    },
    steps: { Pending: 'waiting', Started: 'started', Running: 'running', Success: 'done', Failed: 'failed' },
    progressOf: 'Progress: {title}',
    startedBy: 'Started by {actor}',
    cancel: 'Cancel the task',
    cancelling: 'Cancelling…',
    log: 'Log',
  },
  home: {
    title: 'Home',
    greeting: 'Hello, {name}',
    lead: 'What needs attention in your accounts.',
    attention: 'Needs attention',
    calm: 'Nothing needs your attention.',
    kinds: { bad: 'Problem', warn: 'Soon' },
    taskFailed: '{title} failed',
    clusterAway: 'The cluster {cluster} does not answer',
    phase: '{phase}, in {org}',
    contractEnds: 'The contract {contract} ends',
    invitationOpen: '{email} has not accepted the invitation',
    invitedBy: 'Invited by {inviter} to {org}',
    recent: 'Recent tasks',
    clusters: 'Clusters',
    contracts: 'Active contracts',
    refused: '{total} usage events were refused',
    refusedLast: 'The last one of {org}: {reason}',
    noOrganization: 'You are in no organization yet.',
    create: 'Create an organization',
  },
  levels: { owner: 'Owner', admin: 'Admin', write: 'Write', read: 'Read', custom: 'Custom roles', none: 'None' },
  ...organizationTexts,
  ...clustersTexts,
  ...packagesTexts,
  ...hubsTexts,
  ...billingTexts,
  ...vendorTexts,
  ...siteTexts,
}

import { texts } from './texts.js'

/**
 * Every screen of the console. A screen is one module that exports `screen`, and one line here. Its module is loaded
 * when it is first shown.
 *
 * @type {readonly import('api-shapes').Screen[]}
 */
export const screens = [
  {
    path: '/',
    nav: { group: 'home', label: texts.home.title, order: 1, icon: 'home' },
    load: () => import('./screens/home.js'),
  },
  {
    path: '/o/:owner/members',
    nav: { group: 'organization', label: texts.members.title, order: 10, icon: 'members' },
    isFor: 'organization',
    load: () => import('./screens/members.js'),
  },
]

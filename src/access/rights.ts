import { AppError } from '../errors.ts';
import type { Exchange } from '../http/exchange.ts';
import type { RequestContext } from '../http/request-context.ts';
import type { Route } from '../http/route-table.ts';
import type { Holders } from './holders.ts';

type Passed = undefined | Promise<undefined>;

/** Steps of a request that identify the caller and check the rights that the route needs. */
interface Rights {
  /**
   * Identifies the caller. Delete tokens and passwords of proxies are sent in the same way, so an unknown token is
   * not an error yet.
   */
  recognise(exchange: Exchange): Passed;
  /** True if the route needs a role. */
  guards(route: Route): boolean;
  /** Throws or rejects with `unauthorized` if the caller may not use the route. */
  demandRole(exchange: Exchange): Passed;
}

interface RightsOptions {
  /** Default: nobody has a token. */
  holders: Holders | undefined;
  /** True if authentication as administrator is possible. */
  adminIsSet: boolean;
  /** True if uploading needs a token. */
  uploadNeedsToken: boolean;
}

export function createRights({ holders, adminIsSet, uploadNeedsToken }: RightsOptions): Rights {
  /** Returns the role that this route requires, or `null` if it is open to everyone. */
  function roleOf({ admin, limit }: Route): 'admin' | 'upload' | null {
    if (admin === 'always' || (admin === 'once set' && adminIsSet)) return 'admin';
    return limit === 'upload' && uploadNeedsToken ? 'upload' : null;
  }

  function recogniseToken({ request, context, route }: Exchange, token: string | null): Passed {
    if (!holders || token === null) return;
    if (roleOf(route) !== null) holders.demandCalm(context.peer);
    return recogniseHolder(holders, token, context, route.bytes === null ? 0 : sizeOf(request));
  }

  function demandRoleFor({ route, context }: Exchange, token: string | null): Passed {
    const role = roleOf(route);
    if (role === null || context.admin || context.holder?.role === role) return;
    const name = role === 'admin' ? '<ADMIN_TOKEN>' : '<token>, with a token from the operator';
    const refusal = new AppError('unauthorized', `This needs the header Authorization: Bearer ${name}.`);
    if (!holders || token === null) throw refusal;
    return holders.countWrong(context.peer).then(() => {
      throw refusal;
    });
  }

  return {
    guards: (route) => roleOf(route) !== null,

    recognise(exchange) {
      if (exchange.authorization === null && exchange.route.dialect === null) return;
      const { context, dialect, token } = exchange;
      if (dialect?.tokenInBody && token === null) {
        context.judgeToken = async (inBody) => {
          await recogniseToken(exchange, inBody);
          await demandRoleFor(exchange, inBody);
        };
        return;
      }
      return recogniseToken(exchange, token);
    },

    demandRole(exchange) {
      const { dialect, token } = exchange;
      // The route checks the token later, when it reads the form.
      if (dialect?.tokenInBody && token === null) return;
      return demandRoleFor(exchange, token);
    },
  };
}

async function recogniseHolder(
  holders: Holders,
  brought: string,
  context: RequestContext,
  bytes: number | null,
): Promise<undefined> {
  // Read now, because the address is only available while the connection is open.
  const token = await holders.identify(brought);
  if (token === null) return undefined;
  await holders.charge(token, bytes);
  context.holder = { id: token.id, role: token.role };
  return undefined;
}

/** Returns the announced size of a body, or `null` for one that is sent in chunks of unknown number. */
function sizeOf({ headers }: Request): number | null {
  const length = headers.get('content-length');
  return length === null ? null : Number(length) || 0;
}

import re,collections
rows=[l.rstrip('\n').split('\t') for l in open('ast.tsv') if l.strip()]
idx=collections.defaultdict(list)
for p,k,n,u,at in rows: idx[(p,n)].append((k,u,at))
tagrisk={}
import os
def line(at):
    f,l=at.split(':'); return open('./'+f).read().split('\n')[int(l)-1]
out=[];bad=[]
seen=set()
def addrow(p,old,new,note=''):
    ds=idx.get((p,old))
    if not ds: bad.append((p,old)); return
    for k in sorted({d[0] for d in ds}):
        if (p,k,old) in seen: continue
        seen.add((p,k,old))
        d=[d for d in ds if d[0]==k][0]
        nt=note
        src=line(d[2])
        if k=='field':
            m=re.search(r'`([^`]*)`',src)
            if m and 'json:' in m.group(1): nt=(nt+' ' if nt else '')+'record field: tag '+re.search(r'json:"([^"]*)"',m.group(1)).group(1)+' stays (readable)'
            elif m: nt='tag '+m.group(1)+' (CLI if kong)'
            elif old.split('.')[-1][0].isupper() and p.startswith('cmd/'): nt='CLI: kong derives the flag from the name; give name:"…" or change the flag knowingly'
        if k=='const':
            m=re.search(r'= *"([^"]*)"',src)
            if m: nt=(nt+' ' if nt else '')+f'value "{m.group(1)}" is not changed by this row'
        newfull=(old.rsplit('.',1)[0]+'.'+new) if '.' in old else new
        out.append((p,k,old,newfull,d[1],nt))
for l in open('map.txt'):
    l=l.strip()
    if not l or l.startswith('#'): continue
    p,rest=l.split(' | ')
    for pair in rest.split():
        o,n=pair.split('=')
        if o.split('.')[-1]==n: continue
        addrow(p,o,n)
# the suffix Most is Max
for p,k,n,u,at in rows:
    b=n.split('.')[-1]
    if not p.startswith('bench/peers') and b.endswith('Most') and k in('const','field') and (p,k,n) not in seen and b!='Most' and not (k=='field' and b[0].isupper()):
        addrow(p,n,b[:-4]+'Max','suffix: max, as in units')
print(len(out)); print('BAD',bad)
open('go.rows','w').write('\n'.join('\t'.join(r) for r in sorted(out))+'\n')
c=collections.Counter(r[1] for r in out); print(c)

import re,subprocess,collections
W=[l.rstrip('\n').split('\t') for l in open('forbidden.src') if l.strip() and not l.startswith('#')]
files=[f for f in subprocess.run(['git','ls-files'],capture_output=True,text=True).stdout.split() if not re.search(r'fuzz/|testdata/programs|scenarios/programs|python/tests|\.png$|go\.sum|LICENSE|golden',f)]
T={}
for f in files:
    try: T[f]=open(f).read()
    except Exception: pass
def parts(f,t):
    if f.endswith('.go'):
        com='\n'.join(re.findall(r'//[^\n]*|/\*.*?\*/',t,re.S)); 
        st='\n'.join(re.findall(r'"(?:\\.|[^"\\\n])*"|`[^`]*`',t))
        return com,st,''
    return '','',t
P={f:parts(f,t) for f,t in T.items()}
C=[('comment','\n'.join(p[0] for p in P.values())),('string','\n'.join(p[1] for p in P.values())),('text','\n'.join(p[2] for p in P.values()))]
idn=[l.split('\t') for l in open('ast.tsv') if l.strip()]
def split(n): return ' '.join(w.lower() for w in re.findall(r'[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+',n.split('.')[-1]))
names=[split(r[2]) for r in idn]
out=[]
for w in W:
    rx,use,exc=w[0],w[1],w[2] if len(w)>2 else ''
    r=re.compile(r'\b(?:'+rx+r')\b',re.I)
    ns=sum(1 for n in names if r.search(n))
    cs=[len(r.findall(t)) for _,t in C]
    out.append((rx,use,ns,*cs,exc))
for o in out: print('\t'.join(map(str,o)))

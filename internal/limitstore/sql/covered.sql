-- Reports whether there are limits of instances.
SELECT EXISTS (SELECT FROM limits l WHERE l.spec ->> 'instances' IS NOT NULL)
